// Tile heights; see cover.h.
#include "plan/cover.h"

#include <algorithm>
#include <cstddef>

namespace skipattn {
inline namespace v0 {
namespace internal {

std::vector<int> CoverVectors(const std::vector<Run>& keys, const HeightCosts& costs) {
  const size_t vectors = keys.size();
  std::vector<double> least(vectors + 1, 0.0);  // of covering the vectors from here to the end
  std::vector<int> height(vectors, 1);          // of the first tile of such a cover
  for (size_t first = vectors; first-- > 0;) {
    Run range = keys[first];
    for (int h = 1; h <= costs.heights; ++h) {
      const size_t end = std::min(first + static_cast<size_t>(h), vectors);
      range.begin = std::min(range.begin, keys[end - 1].begin);
      range.end = std::max(range.end, keys[end - 1].end);
      const double tile_keys =
          static_cast<double>(range.end - range.begin) + static_cast<double>(costs.tile_keys);
      const double cost = least[end] + tile_keys * static_cast<double>(costs.cost[h - 1]);
      if (h == 1 || cost <= least[first]) {  // of two equal covers the one with fewer tiles
        least[first] = cost;
        height[first] = h;
      }
    }
  }
  std::vector<int> cover;
  for (size_t first = 0; first < vectors; first += static_cast<size_t>(cover.back())) {
    cover.push_back(height[first]);
  }
  return cover;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
