// Softmax down the lanes: exp2 and the running state of a tile's rows, queries in lanes.

#if defined(SKIPATTN_KERNELS_SOFTMAX_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_SOFTMAX_INL_H_
#undef SKIPATTN_KERNELS_SOFTMAX_INL_H_
#else
#define SKIPATTN_KERNELS_SOFTMAX_INL_H_
#endif

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/scratch.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Below 2^-125 a weight is 0: P(f) is at least 2^-1/2, so what is left is never subnormal.
static constexpr float kLeastExponent = -125.0f;

// 2^e for integers e <= 0; 0 below 2^-125 and for NaN (-inf less -inf, of a row without keys).
template <class D, class V = hn::Vec<D>>
HWY_INLINE V PowerOfTwo(D d, V e) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::ShiftLeft<23>(hn::Add(hn::ConvertInRangeTo(di, e), hn::Set(di, 127)));
  return hn::IfThenElseZero(hn::Ge(e, hn::Set(d, kLeastExponent)), hn::BitCast(d, bits));
}

// P(f), close to 2^f for |f| <= 1/2.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp2OfFraction(D d, V f) {
  V p = hn::Set(d, 0x1.41fbbcp-13f);
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.5f3e52p-10f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.3b2d52p-7f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.c6aefap-5f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.ebfbd8p-3f));
  p = hn::MulAdd(p, f, hn::Set(d, 0x1.62e43p-1f));
  return hn::MulAdd(p, f, hn::Set(d, 1.0f));
}

// p * 2^e for integers e that keep it normal: adding to the exponent is exact then. For any other e
// (NaN included, which converts to a multiple of 2^9 and leaves p as it is) the result means
// nothing, but a NaN in p stays one.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V TimesPowerOfTwo(D d, V p, V e) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d,
                     hn::Add(hn::BitCast(di, p), hn::ShiftLeft<23>(hn::ConvertInRangeTo(di, e))));
}

// P(x - rint(x)) * 2^(rint(x) - m) for an integer m >= x: the contract's p_j. 0 where the power is
// below 2^-125, and so for x = -inf; NaN for x = NaN or +inf.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Weight(D d, V x, V m) {
  const V whole = hn::Round(x);
  const V p = Exp2OfFraction(d, hn::Sub(x, whole));
  const V e = hn::Sub(whole, m);
  return hn::IfThenZeroElse(hn::Lt(e, hn::Set(d, kLeastExponent)), TimesPowerOfTwo(d, p, e));
}

// M and l of one vector of rows go on by m_c and l_c of a chunk; leaves the factors for o.
template <class D, class V = hn::Vec<D>>
HWY_INLINE void FoldVector(D d, V chunk_max, V chunk_sum, const RowState& state, size_t row) {
  const V old_max = hn::Load(d, state.max + row);
  const V new_max = hn::Max(old_max, chunk_max);
  const V keep = PowerOfTwo(d, hn::Sub(old_max, new_max));
  const V add = PowerOfTwo(d, hn::Sub(chunk_max, new_max));
  const V total = hn::MulAdd(hn::Load(d, state.sum + row), keep, hn::Mul(chunk_sum, add));
  hn::Store(total, d, state.sum + row);
  hn::Store(new_max, d, state.max + row);
  hn::Store(keep, d, state.keep + row);
  hn::Store(add, d, state.add + row);
}

// What weights are relative to, for a chunk's maximum rounded up. All scores -inf: relative to 0
// they give weights of 0.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V BaseOf(D d, V chunk_max) {
  return hn::IfThenZeroElse(hn::Eq(chunk_max, hn::Set(d, -INFINITY)), chunk_max);
}

// One vector of rows, one chunk: scores s[n * stride] become weights in place, the state goes on.
template <class D>
HWY_INLINE void ChunkSoftmax(D d, size_t keys, size_t stride, float* HWY_RESTRICT s,
                             const RowState& state, size_t row) {
  using V = hn::Vec<D>;
  const V neg_inf = hn::Set(d, -INFINITY);
  // Two chains hide the latency of max. A NaN may or may not survive them: the weight of its key
  // is NaN in any case, and makes l and o NaN.
  V m0 = neg_inf, m1 = neg_inf;
  size_t n = 0;
  for (; n + 2 <= keys; n += 2) {
    m0 = hn::Max(m0, hn::Load(d, s + n * stride));
    m1 = hn::Max(m1, hn::Load(d, s + (n + 1) * stride));
  }
  if (n < keys) m0 = hn::Max(m0, hn::Load(d, s + n * stride));
  const V chunk_max = hn::Ceil(hn::Max(m0, m1));
  const V base = BaseOf(d, chunk_max);
  V sum = hn::Zero(d);
  for (n = 0; n < keys; ++n) {
    const V p = Weight(d, hn::Load(d, s + n * stride), base);
    hn::Store(p, d, s + n * stride);
    sum = hn::Add(sum, p);
  }
  FoldVector(d, chunk_max, sum, state, row);
  hn::Store(chunk_max, d, state.chunk_max + row);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_SOFTMAX_INL_H_
