// A plain sum, per target; see read_sum.h.
#include "kernels/read_sum.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/read_sum.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Four chains: the additions are done before the next cache line is there.
float Sum(const float* HWY_RESTRICT from, size_t count) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  auto a = hn::Zero(d), b = a, c = a, e = a;
  size_t n = 0;
  for (; n + 4 * lanes <= count; n += 4 * lanes) {
    a = hn::Add(a, hn::LoadU(d, from + n));
    b = hn::Add(b, hn::LoadU(d, from + n + lanes));
    c = hn::Add(c, hn::LoadU(d, from + n + 2 * lanes));
    e = hn::Add(e, hn::LoadU(d, from + n + 3 * lanes));
  }
  float sum = hn::ReduceSum(d, hn::Add(hn::Add(a, b), hn::Add(c, e)));
  for (; n < count; ++n) sum += from[n];
  return sum;
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipattn {
inline namespace v0 {
namespace internal {

HWY_EXPORT(Sum);

float ReadSum(int64_t target, const float* from, size_t count) {
  return SKIPATTN_FUNCTION_OF(target, Sum)(from, count);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
#endif  // HWY_ONCE
