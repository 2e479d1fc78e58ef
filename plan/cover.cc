// Tile heights; see cover.h.
#include "plan/cover.h"

#include <algorithm>
#include <functional>

namespace skipattn {
inline namespace v0 {
namespace internal {

std::vector<int> CoverVectors(int64_t vectors, const HeightCosts& costs) {
  int best = 1;  // the height that is cheapest per vector
  for (int h = 2; h <= costs.heights; ++h) {
    if (costs.cost[h - 1] * static_cast<float>(best) <= costs.cost[best - 1] * static_cast<float>(h)) best = h;
  }
  std::vector<int> cover;
  // Far from the end nothing beats it; the rest is small enough for all combinations.
  const int64_t rest_limit = 4 * costs.heights;
  if (vectors > rest_limit) {
    const int64_t count = (vectors - rest_limit + best - 1) / best;
    cover.assign(static_cast<size_t>(count), best);
    vectors -= count * best;
  }
  const size_t rest = static_cast<size_t>(vectors);
  std::vector<float> cost(rest + 1, 0.0f);  // of covering n vectors
  std::vector<int> last(rest + 1, 0);       // a height that such a cover ends with
  for (size_t n = 1; n <= rest; ++n) {
    for (int h = 1; h <= costs.heights; ++h) {
      const size_t before = n - std::min(n, static_cast<size_t>(h));
      const float total = cost[before] + costs.cost[h - 1];
      if (last[n] == 0 || total < cost[n]) {
        cost[n] = total;
        last[n] = h;
      }
    }
  }
  for (size_t n = rest; n > 0; n -= std::min(n, static_cast<size_t>(last[n]))) {
    cover.push_back(last[n]);
  }
  std::sort(cover.begin(), cover.end(), std::greater<int>());
  return cover;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
