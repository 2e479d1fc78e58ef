// Calls a function of one compiled target by its bit, without touching Highway's global choice, so
// that two plans of one process may run on different targets.
#ifndef SKIPATTN_KERNELS_DISPATCH_H_
#define SKIPATTN_KERNELS_DISPATCH_H_

#include <cstdint>

#include "hwy/highway.h"

// The pointer to FUNC (HWY_EXPORTed in this file) of the target bit `target`, which must be one of
// HWY_TARGETS.
#if (HWY_TARGETS & (HWY_TARGETS - 1)) == 0
#define SKIPATTN_FUNCTION_OF(target, FUNC) (static_cast<void>(target), &HWY_STATIC_DISPATCH(FUNC))
#else
#define SKIPATTN_FUNCTION_OF(target, FUNC) \
  (HWY_DISPATCH_TABLE(FUNC)[::skipattn::internal::DispatchIndex(target)])
#endif

namespace skipattn {
inline namespace v0 {
namespace internal {

// Static, as it depends on the targets that the including file is compiled for.
static inline size_t DispatchIndex(int64_t target) {
  hwy::ChosenTarget one;
  one.Update(target);
  return one.GetIndex();
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_DISPATCH_H_
