// How fast a core can read at most: the yardstick of work that waits for memory.
#ifndef SKIPATTN_KERNELS_READ_SUM_H_
#define SKIPATTN_KERNELS_READ_SUM_H_

#include <cstddef>
#include <cstdint>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The sum of `count` floats, in no particular order, on the calling thread with the vectors of the
/// target `target` (a Highway target bit that this CPU supports and that is compiled). It does
/// nothing but read.
float ReadSum(int64_t target, const float* from, size_t count);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_READ_SUM_H_
