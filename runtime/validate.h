// Argument checks that every entry point shares. Each message names the argument, what it was and
// what it should be.
#ifndef SKIPATTN_RUNTIME_VALIDATE_H_
#define SKIPATTN_RUNTIME_VALIDATE_H_

#include "skipattn/merge.h"
#include "skipattn/options.h"
#include "skipattn/plan.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Sizes are not negative and do not overflow, heads and dims are positive and divide, types are
/// supported.
Status CheckProblem(const Problem& problem);

/// Everything in the options but the names of target and config. `problem` has been checked.
Status CheckOptions(const Problem& problem, const AttentionOptions& options);

/// The views q, k and v of a run against a checked problem.
Status CheckInputs(const Problem& problem, const RunArgs& args);

/// `out` and `lse` as well, and that they overlap neither an input nor each other nor themselves.
Status CheckRun(const Problem& problem, const RunArgs& args);

/// The views of a merge: shapes and types, and that the outputs overlap no input but where they are
/// one.
Status CheckMerge(const MergeArgs& args);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_VALIDATE_H_
