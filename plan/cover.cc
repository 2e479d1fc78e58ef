// Tile heights; see cover.h.
#include "plan/cover.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace skipattn {
inline namespace v0 {
namespace internal {

namespace {

/// The keys of some vectors, together.
class UnitedKeys {
 public:
  explicit UnitedKeys(const Runs& keys) : one_(keys[0]) {
    if (keys.size() > 1) runs_ = keys;
  }

  void Add(const Runs& keys) {
    const Run& other = keys[0];
    if (runs_.empty() && keys.size() == 1 && other.begin <= one_.end && one_.begin <= other.end) {
      one_ = {std::min(one_.begin, other.begin), std::max(one_.end, other.end)};
      return;
    }
    if (runs_.empty()) runs_ = {one_};
    Unite(runs_, keys, united_);
    std::swap(runs_, united_);
  }

  int64_t Count() const {
    if (runs_.empty()) return one_.end - one_.begin;
    int64_t count = 0;
    for (const Run& run : runs_) count += run.end - run.begin;
    return count;
  }

 private:
  Run one_;    // the only run, as of most masks;
  Runs runs_;  // or, where not empty, all of them
  Runs united_;
};

}  // namespace

std::vector<int> CoverVectors(const std::vector<Runs>& keys, const HeightCosts& costs) {
  const size_t vectors = keys.size();
  std::vector<double> least(vectors + 1, 0.0);  // of covering the vectors from here to the end
  std::vector<int> height(vectors, 1);          // of the first tile of such a cover
  for (size_t first = vectors; first-- > 0;) {
    UnitedKeys united(keys[first]);
    for (int h = 1; h <= costs.heights; ++h) {
      const size_t end = std::min(first + static_cast<size_t>(h), vectors);
      if (h > 1) united.Add(keys[end - 1]);
      const double tile_keys =
          static_cast<double>(united.Count()) + static_cast<double>(costs.tile_keys);
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
