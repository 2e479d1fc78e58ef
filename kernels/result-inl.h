// The end of a tile: totals to outputs, and lse.

#if defined(SKIPATTN_KERNELS_RESULT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_RESULT_INL_H_
#undef SKIPATTN_KERNELS_RESULT_INL_H_
#else
#define SKIPATTN_KERNELS_RESULT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "hwy/highway.h"
#include "kernels/scratch.h"
#include "kernels/state-inl.h"
#include "kernels/tile.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The one NaN that is ever written: quiet, sign 0. What the hardware makes depends on operand
// order and platform.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V CanonicalNaN(D d, V x) {
  const hn::RebindToUnsigned<D> du;
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, hn::Set(du, 0x7fc00000u)), x);
}

// log2 of positive normal x, for lse: x = 2^e * m with m in [sqrt(1/2), sqrt(2)), t = m - 1, then
// e + t * Q(t) in one fma. The coefficients and their error are explained in reference/exact.cc.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Log2(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto bits = hn::BitCast(di, x);
  const auto e = hn::ShiftRight<23>(hn::Sub(bits, hn::Set(di, 0x3f3504f3)));
  const V t = hn::Sub(hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<23>(e))), hn::Set(d, 1.0f));
  V q = hn::Set(d, 0x1.015416p-3f);
  q = hn::MulAdd(q, t, hn::Set(d, -0x1.a86ae2p-3f));
  q = hn::MulAdd(q, t, hn::Set(d, 0x1.b9cd82p-3f));
  q = hn::MulAdd(q, t, hn::Set(d, -0x1.e95ecap-3f));
  q = hn::MulAdd(q, t, hn::Set(d, 0x1.26d384p-2f));
  q = hn::MulAdd(q, t, hn::Set(d, -0x1.715b76p-2f));
  q = hn::MulAdd(q, t, hn::Set(d, 0x1.ec73c6p-2f));
  q = hn::MulAdd(q, t, hn::Set(d, -0x1.715478p-1f));
  q = hn::MulAdd(q, t, hn::Set(d, 0x1.715476p+0f));
  return hn::MulAdd(t, q, hn::ConvertTo(d, e));
}

// lse of every row, and what its totals are multiplied by. Replaces M and l in the scratch.
template <class D>
HWY_INLINE void FinishRows(D d, size_t rows, const RowState& state) {
  using V = hn::Vec<D>;
  for (size_t row = 0; row < rows; row += hn::Lanes(d)) {
    const V sum = hn::Load(d, state.sum + row);
    const auto empty = hn::Eq(sum, hn::Zero(d));
    const V lse =
        hn::Mul(hn::Add(hn::Load(d, state.max + row), Log2(d, sum)), hn::Set(d, 0x1.62e43p-1f));
    // A NaN in l always reaches lse; M may have lost it.
    const V nan_or_lse = hn::IfThenElse(hn::IsNaN(sum), sum, lse);
    hn::Store(CanonicalNaN(d, hn::IfThenElse(empty, hn::Set(d, -INFINITY), nan_or_lse)), d,
              state.max + row);
    hn::Store(hn::IfThenZeroElse(empty, hn::Div(hn::Set(d, 1.0f), sum)), d, state.sum + row);
  }
}

// out = o * inverse + 0 for one row; the +0 keeps masked keys from deciding the sign of a zero.
// Returns whether there is a NaN in it.
template <class D>
HWY_INLINE bool WriteRow(D d, const float* HWY_RESTRICT o, float inverse, size_t v_dim,
                         float* HWY_RESTRICT out) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  const V factor = hn::Set(d, inverse);
  V nan_seen = hn::Zero(d);
  size_t column = 0;
  for (; column + lanes <= v_dim; column += lanes) {
    const V x = hn::MulAdd(hn::Load(d, o + column), factor, hn::Zero(d));
    nan_seen = hn::IfThenElse(hn::IsNaN(x), x, nan_seen);
    hn::StoreU(CanonicalNaN(d, x), d, out + column);
  }
  if (column < v_dim) {
    // Columns of o beyond v_dim hold zeros, or NaN only where factor is NaN.
    const V x = hn::MulAdd(hn::Load(d, o + column), factor, hn::Zero(d));
    nan_seen = hn::IfThenElse(hn::IsNaN(x), x, nan_seen);
    hn::StoreN(CanonicalNaN(d, x), d, out + column, v_dim - column);
  }
  return !hn::AllFalse(d, hn::IsNaN(nan_seen));
}

// The mean of v over all keys of the head, as if all scores were 0: weights of 1, and per chunk of
// the grid from 0 sums of its own.
template <class D>
HWY_INLINE void WriteMean(D d, const TileArgs& tile, float* HWY_RESTRICT out) {
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  for (size_t column = 0; column < tile.v_dim; column += lanes) {
    const size_t columns = std::min(lanes, tile.v_dim - column);
    V total = hn::Zero(d);
    float keys = 0.0f;
    for (int64_t begin = 0; begin < tile.k_len; begin += kChunk) {
      const int64_t end = std::min(begin + kChunk, tile.k_len);
      V sum = hn::Zero(d);
      for (int64_t j = begin; j < end; ++j) {
        sum = hn::Add(sum, hn::LoadN(d, tile.v + j * tile.v_stride + column, columns));
      }
      total = hn::Add(total, sum);
      keys += static_cast<float>(end - begin);
    }
    const V inverse = hn::Set(d, keys == 0.0f ? 0.0f : 1.0f / keys);
    const V mean = hn::MulAdd(total, inverse, hn::Zero(d));
    hn::StoreN(CanonicalNaN(d, mean), d, out + column, columns);
  }
}

// Writes an empty row by its policy, which is not kZero. `mean`: a row that holds the mean, or null
// where none has been written yet.
template <class D>
HWY_INLINE void WriteEmptyRow(D d, const TileArgs& tile, float* out, const float*& mean) {
  if (tile.empty_rows == EmptyRows::kNan) {
    std::fill_n(out, tile.v_dim, hn::GetLane(CanonicalNaN(d, hn::NaN(d))));
  } else if (tile.empty_rows == EmptyRows::kUniform) {
    if (mean != nullptr) {
      std::copy_n(mean, tile.v_dim, out);
    } else {
      WriteMean(d, tile, out);
      mean = out;
    }
  }
}

inline float CanonicalNaN(float x) {
  return std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x;
}

// Leaves the state of the live rows for a later run. It may lie where this run's own was read, so
// that nothing is written while a NaN that a masked key may have made asks for another pass; then
// it returns true.
inline bool WriteState(const TileArgs& tile, const TileScratch& scratch, bool selected) {
  const auto o = [&](size_t r) { return scratch.o + r * scratch.o_stride; };
  for (size_t r = 0; r < tile.rows && !selected; ++r) {
    if (std::any_of(o(r), o(r) + tile.v_dim, [](float x) { return std::isnan(x); })) return true;
  }
  for (size_t r = 0; r < tile.rows; ++r) {
    const float sum = CanonicalNaN(scratch.state.sum[r]);
    *tile.carry_out->sum[r] = sum;
    // A NaN in l always reaches lse; M may have lost it.
    *tile.carry_out->max[r] = std::isnan(sum) ? sum : scratch.state.max[r];
    std::transform(o(r), o(r) + tile.v_dim, tile.carry_out->out[r],
                   [](float x) { return CanonicalNaN(x); });
  }
  return false;
}

// Writes out and lse of the live rows, or their state; returns whether there is a NaN in it that a
// masked key may have made. `selected`: there is not, as masked keys were left out.
template <class R>
HWY_INLINE bool WriteResult(R dr, const TileArgs& tile, size_t rows, const TileScratch& scratch,
                            bool selected) {
  const hn::ScalableTag<float> d;
  if (tile.carry_out != nullptr) return WriteState(tile, scratch, selected);
  if (tile.sinks != nullptr) FoldSinks(dr, tile, rows, scratch);
  FinishRows(dr, rows, scratch.state);
  const float* lse = scratch.state.max;
  const float* inverse = scratch.state.sum;
  const float* mean = nullptr;
  bool nan_seen = false;
  for (size_t r = 0; r < tile.rows; ++r) {
    if (tile.lse != nullptr) *tile.lse[r] = lse[r];
    if (lse[r] == -INFINITY && tile.empty_rows != EmptyRows::kZero) {  // all scores were -inf
      WriteEmptyRow(d, tile, tile.out[r], mean);
      continue;
    }
    nan_seen |= WriteRow(d, scratch.o + r * scratch.o_stride, inverse[r], tile.v_dim, tile.out[r]);
  }
  return nan_seen;
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_RESULT_INL_H_
