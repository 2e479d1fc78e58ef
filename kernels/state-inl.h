// The state of a tile's rows beside its chunks: where it begins, and the sinks that end it.

#if defined(SKIPATTN_KERNELS_STATE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_STATE_INL_H_
#undef SKIPATTN_KERNELS_STATE_INL_H_
#else
#define SKIPATTN_KERNELS_STATE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "hwy/highway.h"
#include "kernels/scratch.h"
#include "kernels/softmax-inl.h"
#include "kernels/tile.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// No key so far: M = -inf, l = 0.
template <class D>
HWY_INLINE void ResetRows(D d, size_t rows, const RowState& state) {
  for (size_t row = 0; row < rows; row += hn::Lanes(d)) {
    hn::Store(hn::Set(d, -INFINITY), d, state.max + row);
    hn::Store(hn::Zero(d), d, state.sum + row);
  }
}

// Where the fold begins: at nothing, or where an earlier run has left it. Returns whether the
// totals of o have been set.
template <class D>
HWY_INLINE bool BeginRows(D d, const TileArgs& tile, size_t rows, const TileScratch& scratch) {
  ResetRows(d, rows, scratch.state);
  if (tile.carry_in == nullptr) return false;
  for (size_t r = 0; r < tile.rows; ++r) {
    float* o = scratch.o + r * scratch.o_stride;
    scratch.state.max[r] = *tile.carry_in->max[r];
    scratch.state.sum[r] = *tile.carry_in->sum[r];
    std::copy_n(tile.carry_in->out[r], tile.v_dim, o);
    std::fill(o + tile.v_dim, o + scratch.o_stride, 0.0f);
  }
  return true;
}

// A number of the caller's in units of log 2: finite ones stay finite, where the product does not.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V InLog2Units(D d, V x) {
  const V most = hn::Set(d, std::numeric_limits<float>::max());
  const V y = hn::Mul(x, hn::Set(d, 0x1.715476p+0f));
  const V clamped = hn::Max(hn::Min(y, most), hn::Neg(most));
  return hn::IfThenElse(hn::Le(hn::Abs(x), most), clamped, x);
}

// The sinks of all rows, as one more chunk that has no value.
template <class R>
HWY_INLINE void FoldSinks(R dr, const TileArgs& tile, size_t rows, const TileScratch& scratch) {
  for (size_t row = 0; row < rows; row += hn::Lanes(dr)) {
    const auto y = InLog2Units(dr, hn::LoadU(dr, tile.sinks + row));
    const auto max = hn::Ceil(y);
    FoldVector(dr, max, Weight(dr, y, BaseOf(dr, max)), scratch.state, row);
  }
  const hn::ScalableTag<float> d;
  for (size_t r = 0; r < tile.rows; ++r) {
    const auto keep = hn::Set(d, scratch.state.keep[r]);
    float* HWY_RESTRICT o = scratch.o + r * scratch.o_stride;
    for (size_t c = 0; c < scratch.o_stride; c += hn::Lanes(d)) {
      hn::Store(hn::MulAdd(hn::Load(d, o + c), keep, hn::Zero(d)), d, o + c);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_STATE_INL_H_
