// Which tile heights cover the rows of a plane at the least cost.
#ifndef SKIPATTN_PLAN_COVER_H_
#define SKIPATTN_PLAN_COVER_H_

#include <cstdint>
#include <vector>

#include "plan/runs.h"
#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A kernel for tiles of at most `most` rows, which are stored as `rows` rows.
struct FewRowsCost {
  int most = 0;
  int rows = 0;
  float cost = 1;  // for each key
};

/// What a tile of n + 1 vectors costs: `cost[n]` for each of its keys, and as much as `tile_keys`
/// more keys for beginning and ending it. Only ratios count.
struct HeightCosts {
  int heights = 1;  // cost[n] means something for n < heights
  float cost[4] = {1, 2, 3, 4};
  float tile_keys = 0;
  std::vector<FewRowsCost> few = {};  // by rising `most`
};

/// The keys of the rows of one vector: all from the lowest to the highest or, where there are runs,
/// those.
struct VectorKeys {
  Run bounds;
  Runs runs = {};
};

/// Heights in vectors, one tile after the other, that cover all vectors of rows at the least total
/// cost. A tile computes all keys of its vectors, so slanted masks want low tiles and others tall
/// ones. The last tile may be taller than what is left.
std::vector<int> CoverVectors(const std::vector<VectorKeys>& keys, const HeightCosts& costs);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_COVER_H_
