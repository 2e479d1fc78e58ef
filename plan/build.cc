// From a mask to planes; see plan_data.h.
#include <algorithm>

#include "plan/biased_rows.h"
#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

PlanData BuildPlan(const Problem& problem, const Mask& mask, const AttentionOptions& options,
                   TileParams params, ScanFunction scan, int threads, const Bias& bias) {
  PlanData plan;
  plan.problem = problem;
  plan.mask = MaskText(mask);
  plan.bias = BiasText(bias);
  BiasedRows rows(problem, mask, bias, options, scan);
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
  plan.bias_adds_nothing = rows.bias_adds_nothing();
  plan.bias_looks_masking = rows.bias_looks_masking();
  if (problem.batch > 0) CutTasks(threads, plan);
  return plan;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
