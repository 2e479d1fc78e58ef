// A compiled plan: planes of tiles, and the tasks that cover them.
#ifndef SKIPATTN_PLAN_PLAN_DATA_H_
#define SKIPATTN_PLAN_PLAN_DATA_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/scan_bits.h"
#include "plan/tiles.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A unit of work for one thread: tiles [tile_begin, tile_end) of one plane for one batch entry and
/// one head slot; without tiles, the plane's empty rows.
struct Task {
  int64_t b, slot;
  int64_t tile_begin, tile_end;
};

/// Everything about a plan that is integers.
///
/// A head slot is the query heads that are packed side by side in tiles: all those of one key head
/// where they share the mask, else one.
struct PlanData {
  Problem problem;
  TileParams params;  // params.heads = heads of a slot
  int64_t slots = 0;
  int64_t batch_planes = 1, head_planes = 1;  // distinct ones; 1 or B, 1 or slots
  std::vector<Plane> planes;                  // [batch_planes][head_planes]
  std::vector<Task> tasks;

  const Plane& PlaneOf(int64_t b, int64_t slot) const {
    return planes[static_cast<size_t>((batch_planes > 1 ? b : 0) * head_planes +
                                      (head_planes > 1 ? slot : 0))];
  }
};

/// Compiles a checked mask. `params.heads` is chosen here.
PlanData BuildPlan(const Problem& problem, const Mask& mask, const AttentionOptions& options,
                   TileParams params, ScanFunction scan);

/// The counters of PlanStats; its names are left empty.
PlanStats CountWork(const PlanData& plan);

/// The first plane as text: one line per group of queries, one character per group of keys.
std::string Picture(const PlanData& plan);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_PLAN_DATA_H_
