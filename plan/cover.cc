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
  explicit UnitedKeys(const VectorKeys& keys) : bounds_(keys.bounds), runs_(keys.runs) {}

  void Add(const VectorKeys& keys) {
    const Run& other = keys.bounds;
    if (runs_.empty() && keys.runs.empty() && other.begin <= bounds_.end &&
        bounds_.begin <= other.end) {
      bounds_ = {std::min(bounds_.begin, other.begin), std::max(bounds_.end, other.end)};
      return;
    }
    if (runs_.empty()) runs_ = {bounds_};
    Unite(runs_, keys.runs.empty() ? Runs{other} : keys.runs, united_);
    std::swap(runs_, united_);
  }

  int64_t Count() const {
    if (runs_.empty()) return bounds_.end - bounds_.begin;
    int64_t count = 0;
    for (const Run& run : runs_) count += run.end - run.begin;
    return count;
  }

 private:
  Run bounds_;
  Runs runs_;  // none = all of the bounds, as with most masks
  Runs united_;
};

}  // namespace

std::vector<int> CoverVectors(const std::vector<VectorKeys>& keys, const HeightCosts& costs) {
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
