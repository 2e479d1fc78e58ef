// Zeros for rows without keys.

#if defined(SKIPATTN_KERNELS_ZERO_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_ZERO_INL_H_
#undef SKIPATTN_KERNELS_ZERO_INL_H_
#else
#define SKIPATTN_KERNELS_ZERO_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The ZeroFunction of the target. Long runs go past the caches: nobody reads padding soon, and what
// is in the caches is worth more (at padding 0.9 of 8 x 12 x 512 x 64, 1.43 -> 1.26 ms). Clearing
// rows in passing, between the score blocks of tiles, loses (AVX3 | AVX2): 7 % | nothing at padding
// .75, 20 % | 18 % and more at .9. Stores past the caches want to run on without loads between.
inline void Zero(float* HWY_RESTRICT to, size_t count) {
  constexpr size_t kLongRun = 32768 / sizeof(float);
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  size_t n = 0;
  if (count >= kLongRun) {
    while (reinterpret_cast<uintptr_t>(to + n) % (lanes * sizeof(float)) != 0) to[n++] = 0.0f;
    for (; n + lanes <= count; n += lanes) hn::Stream(hn::Zero(d), d, to + n);
    hwy::FlushStream();
  }
  std::fill(to + n, to + count, 0.0f);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_ZERO_INL_H_
