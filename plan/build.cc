// From a mask to planes and tasks; see plan_data.h.
#include <algorithm>

#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Tasks a run is cut into, about: enough to keep threads evenly busy, few enough to cost nothing.
constexpr double kTasks = 512;

/// Cuts each plane of each batch entry and slot into tasks of about equal cost.
void CutTasks(PlanData& plan) {
  double total = 0;
  std::vector<std::vector<double>> costs;
  for (const Plane& plane : plan.planes) {
    costs.emplace_back();
    for (const Tile& tile : plane.tiles) {
      costs.back().push_back(TileCost(plane, tile, plan.params));
      total += costs.back().back();
    }
  }
  total *= static_cast<double>(plan.problem.batch * plan.slots) /
           static_cast<double>(plan.batch_planes * plan.head_planes);
  for (int64_t b = 0; b < plan.problem.batch; ++b) {
    for (int64_t slot = 0; slot < plan.slots; ++slot) {
      const Plane& plane = plan.PlaneOf(b, slot);
      const std::vector<double>& cost = costs[static_cast<size_t>(&plane - plan.planes.data())];
      const int64_t tiles = static_cast<int64_t>(plane.tiles.size());
      for (int64_t begin = 0; begin < tiles;) {
        int64_t end = begin;
        for (double sum = 0; end < tiles && sum < total / kTasks; ++end) {
          sum += cost[static_cast<size_t>(end)];
        }
        plan.tasks.push_back({b, slot, begin, end});
        begin = end;
      }
      if (!plane.empty_rows.empty()) plan.tasks.push_back({b, slot, 0, 0});
    }
  }
}

}  // namespace

PlanData BuildPlan(const Problem& problem, const Mask& mask, const AttentionOptions& options,
                   TileParams params, ScanFunction scan) {
  PlanData plan;
  plan.problem = problem;
  RowCompiler rows(problem, mask, options.key_origin, scan);
  params.heads = rows.per_head() ? 1 : problem.heads / problem.kv_heads;
  params.skipping = options.skipping;
  plan.params = params;
  plan.slots = problem.heads / params.heads;
  plan.batch_planes = rows.per_batch() ? problem.batch : std::min<int64_t>(problem.batch, 1);
  plan.head_planes = rows.per_head() ? plan.slots : 1;
  for (int64_t b = 0; b < plan.batch_planes; ++b) {
    for (int64_t h = 0; h < plan.head_planes; ++h) {
      plan.planes.push_back(BuildTiles(rows.Compile(b, h), problem.k_len, params));
    }
  }
  if (problem.batch > 0) CutTasks(plan);
  return plan;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
