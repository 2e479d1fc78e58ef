// Argument checks of a mask against the sizes of its problem.
#ifndef SKIPATTN_PLAN_CHECK_MASK_H_
#define SKIPATTN_PLAN_CHECK_MASK_H_

#include <string>

#include "plan/mask_terms.h"
#include "skipattn/plan.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Whether every term, at any depth, fits the problem; after it the terms' arrays can be read
/// without a check. The message names the term and the argument, what it was and what it should be.
Status CheckMask(const Problem& problem, const Mask& mask);

/// Whether a diagonal is given as it must be; `name`: of the term that has it.
Status CheckDiagonal(const Problem& problem, const std::string& name,
                     const mask::Diagonal& diagonal);

/// "[2, 3]", for messages.
std::string ShapeText(const ConstTensor& tensor);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_CHECK_MASK_H_
