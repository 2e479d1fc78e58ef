// What a Plan holds.
#ifndef SKIPATTN_RUNTIME_PLAN_IMPL_H_
#define SKIPATTN_RUNTIME_PLAN_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "kernels/tile.h"
#include "plan/plan_data.h"
#include "runtime/bias_values.h"
#include "skipattn/plan.h"
#include "skipattn/reference.h"

namespace skipattn {
inline namespace v0 {

struct Plan::Impl {
  internal::PlanData data;
  EmptyRows empty_rows = EmptyRows::kZero;
  int threads = 1;
  ParallelFor parallel_for;
  float q_scale = 1;  // the contract's c
  float softcap = 0;  // the contract's g; 0 = none

  internal::BiasValues bias;

  int64_t target = 0;
  size_t lanes = 1;
  const internal::TileConfig* config = nullptr;
  std::optional<Reference> reference;  // given: it computes, row by row

  internal::FewRows few[internal::kMaxFewRows] = {};
  internal::FoldFunction fold = nullptr;
  internal::ZeroFunction zero = nullptr;

  internal::TileFunction KernelOf(const internal::Tile& tile) const {
    return tile.few >= 0 ? few[tile.few].tile : config->tile[tile.vectors - 1];
  }

  /// Scratch of one worker, and what the workers of a run share; multiples of 64.
  size_t worker_bytes = 0;
  size_t shared_bytes = 0;
};

namespace internal {

/// Bytes that the workers of a run share: states of split tiles, and a counter for each.
size_t SharedBytes(const PlanData& data);

/// The bias of a run that leaves it out, as it adds nothing: one 0 for all pairs.
ConstTensor ZeroBias();

/// What a run brings of the bias that the plan was made with: nothing, or the values.
ConstTensor BiasOfRun(const Plan::Impl& plan, const Bias& bias);

/// `args`, with ZeroBias where a bias may be left out, and is.
RunArgs WithZeroBias(const Plan::Impl& plan, const RunArgs& args);

/// Runs a plan on checked arguments.
Status RunPlan(const Plan::Impl& plan, const RunArgs& args);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_PLAN_IMPL_H_
