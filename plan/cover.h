// Which tile heights cover a number of rows at the least cost.
#ifndef SKIPATTN_PLAN_COVER_H_
#define SKIPATTN_PLAN_COVER_H_

#include <cstdint>
#include <vector>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// What a tile of n + 1 vectors costs per key: `cost[n]`, for n < heights. Only ratios count.
struct HeightCosts {
  int heights = 1;
  float cost[4] = {1, 2, 3, 4};
};

/// Heights in vectors, tallest first, whose sum is at least `vectors`, of the least total cost.
std::vector<int> CoverVectors(int64_t vectors, const HeightCosts& costs);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_COVER_H_
