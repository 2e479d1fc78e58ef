// skipattn: masked attention for CPUs that does only the work the mask leaves.
//
//   out_i = sum_j softmax_j(scale * q_i . k_j) * v_j     over the keys j that the mask allows
//
// This header brings in the whole C++ interface.
#ifndef SKIPATTN_ATTENTION_H_
#define SKIPATTN_ATTENTION_H_

#include "skipattn/bias.h"
#include "skipattn/mask.h"
#include "skipattn/merge.h"
#include "skipattn/options.h"
#include "skipattn/plan.h"
#include "skipattn/reference.h"
#include "skipattn/status.h"
#include "skipattn/targets.h"
#include "skipattn/tensor.h"
#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {

/// One shot: MakePlan with the sizes of `args` (and its bias, if there is one), then Run. To use a
/// mask more than once (heads are included in a run; layers and steps are not), make a Plan.
SKIPATTN_API Status Attention(const RunArgs& args, const Mask& mask = {},
                              const AttentionOptions& options = {});

/// The same with a bias of any kind; `args` brings none then.
SKIPATTN_API Status Attention(const RunArgs& args, const Mask& mask, const Bias& bias,
                              const AttentionOptions& options);

/// The sizes and types that the views of `args` have. An error where they disagree.
SKIPATTN_API Result<Problem> ProblemOf(const RunArgs& args);

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_ATTENTION_H_
