// Score terms: what happens to a chunk's scores between the products and the mask.

#if defined(SKIPATTN_KERNELS_SCORE_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#undef SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#else
#define SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// tanh, to the bits of reference/exact.cc, where the coefficients and the error are explained.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Tanh(D d, V x) {
  const V z = hn::Mul(x, x);
  V q = hn::Set(d, -0x1.759214p-8f);
  q = hn::MulAdd(q, z, hn::Set(d, 0x1.521578p-6f));
  q = hn::MulAdd(q, z, hn::Set(d, -0x1.b839d8p-5f));
  q = hn::MulAdd(q, z, hn::Set(d, 0x1.110714p-3f));
  q = hn::MulAdd(q, z, hn::Set(d, -0x1.555532p-2f));
  const V near_zero = hn::MulAdd(hn::Mul(z, x), q, x);

  const V a = hn::Abs(x);
  const V y = hn::Mul(hn::Min(a, hn::Set(d, 10.0f)), hn::Set(d, 0x1.715476p+1f));
  const V whole = hn::Round(y);
  const V power = TimesPowerOfTwo(d, Exp2OfFraction(d, hn::Sub(y, whole)), whole);
  const V one = hn::Set(d, 1.0f);
  const V far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  // A NaN takes the first way, whatever Min makes of it.
  return hn::IfThenElse(hn::Ge(a, hn::Set(d, 0.625f)), hn::CopySign(far, x), near_zero);
}

// s = g * tanh(s / g) for `count` scores, a multiple of the vector length.
template <class D>
HWY_NOINLINE void CapScores(D d, float g, size_t count, float* HWY_RESTRICT s) {
  const auto cap = hn::Set(d, g);
  for (size_t n = 0; n < count; n += hn::Lanes(d)) {
    hn::Store(hn::Mul(cap, Tanh(d, hn::Div(hn::Load(d, s + n), cap))), d, s + n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
