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
/// one head slot; without tiles, the plane's empty rows; with a split, chunks [chunk_begin,
/// chunk_end) of its tile.
struct Task {
  int64_t b, slot;
  int64_t tile_begin, tile_end;
  int64_t split = -1;  // index into PlanData::splits
  int64_t chunk_begin = 0, chunk_end = 0;
  double cost = 0;  // relative
};

/// A tile whose keys are shared out over several tasks. Each leaves the state of its chunks, and
/// whichever ends last folds them in ascending order.
struct Split {
  int64_t parts;   // tasks
  int64_t chunks;  // that have keys
  size_t states;   // where its states begin, in floats
};

/// Everything about a plan that is integers.
///
/// A head slot is the query heads that are packed side by side in tiles: all those of one key head
/// where they share the mask, else one.
struct PlanData {
  Problem problem;
  std::string mask;   // its expression, for people
  std::string bias;   // likewise, "" where the plan knows of none
  TileParams params;  // params.heads = heads of a slot
  int64_t slots = 0;
  int64_t batch_planes = 1, head_planes = 1;  // distinct ones; 1 or B, 1 or slots
  std::vector<Plane> planes;                  // [batch_planes][head_planes]
  std::vector<Task> tasks;                    // in the order to take them
  std::vector<Split> splits;
  size_t state_floats = 0;          // of all splits
  bool bias_adds_nothing = false;   // a dense bias was given that is 0 wherever it does not mask
  bool bias_looks_masking = false;  // it has numbers like -1e9, which do not mask

  const Plane& PlaneOf(int64_t b, int64_t slot) const {
    return planes[static_cast<size_t>((batch_planes > 1 ? b : 0) * head_planes +
                                      (head_planes > 1 ? slot : 0))];
  }
};

/// Compiles a checked mask, and what a checked bias masks, for `threads` threads. `params.heads` is
/// chosen here.
PlanData BuildPlan(const Problem& problem, const Mask& mask, const AttentionOptions& options,
                   TileParams params, ScanFunction scan, int threads = 1, const Bias& bias = {});

/// Cuts the planes of a plan into tasks; see tasks.cc.
void CutTasks(int threads, PlanData& plan);

/// The counters of PlanStats; its names are left empty.
PlanStats CountWork(const PlanData& plan);

/// The cost of all tiles, as predicted from the target's measured costs, over the cost of the tiles
/// that there would be without a mask. 0 where there is nothing to compute in either.
double PredictedShare(const PlanData& plan);

/// The first plane as text: one line per group of queries, one character per group of keys.
std::string Picture(const PlanData& plan);

/// The plane of a batch entry and query head as an SVG document: its tiles, and in them what is
/// computed without a mask, computed and partly selected away, and skipped.
std::string Drawing(const PlanData& plan, int64_t b, int64_t head);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_PLAN_DATA_H_
