// Score terms: what happens to a chunk's scores between the products and the mask.

#if defined(SKIPATTN_KERNELS_SCORE_TERMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#undef SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#else
#define SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>

#include "hwy/highway.h"
#include "kernels/chunk.h"
#include "kernels/scratch.h"
#include "kernels/softmax-inl.h"
#include "kernels/state-inl.h"
#include "kernels/tile.h"

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

// Row r's numbers of keys [0, keys) at from[r][n * stride] to columns: to[n * rows + r].
inline void TransposeBias(const float* const* from, ptrdiff_t stride, size_t live_rows, size_t rows,
                          size_t keys, float* HWY_RESTRICT to) {
  const hn::FixedTag<float, 4> d;
  using V = hn::Vec<decltype(d)>;
  for (size_t r = 0; r < rows; r += 4) {
    const float* row[4];
    for (size_t i = 0; i < 4; ++i) row[i] = from[std::min(r + i, live_rows - 1)];
    size_t n = 0;
    for (; stride == 1 && n + 4 <= keys; n += 4) {
      const V a = hn::LoadU(d, row[0] + n), b = hn::LoadU(d, row[1] + n);
      const V c = hn::LoadU(d, row[2] + n), e = hn::LoadU(d, row[3] + n);
      const V ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
      const V be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
      float* HWY_RESTRICT column = to + n * rows + r;
      hn::Store(hn::InterleaveLower(d, ac_low, be_low), d, column);
      hn::Store(hn::InterleaveUpper(d, ac_low, be_low), d, column + rows);
      hn::Store(hn::InterleaveLower(d, ac_high, be_high), d, column + 2 * rows);
      hn::Store(hn::InterleaveUpper(d, ac_high, be_high), d, column + 3 * rows);
    }
    for (; n < keys; ++n) {
      const ptrdiff_t at = static_cast<ptrdiff_t>(n) * stride;
      for (size_t i = 0; i < 4; ++i) to[n * rows + r + i] = row[i][at];
    }
  }
}

// slope * |position - key| of a span's keys. Differences of 32 bits are the rule.
template <class D>
HWY_INLINE void FillSlopes(D d, const TileArgs& tile, const ChunkSpan& span, size_t rows,
                           const TileScratch& scratch, float* HWY_RESTRICT to) {
  const hn::RebindToSigned<D> di;
  const size_t keys = span.end - span.begin;
  const BiasRows& bias = *tile.bias;
  bool close = true;
  for (size_t r = 0; r < rows; ++r) {
    const int64_t distance = bias.positions[std::min(r, tile.rows - 1)] - span.key;
    close = close && std::abs(distance) < (int64_t{1} << 30);
    scratch.lo[r] = static_cast<int32_t>(distance);
  }
  for (size_t row = 0; close && row < rows; row += hn::Lanes(d)) {
    const auto first = hn::Load(di, scratch.lo + row);
    const auto slope = hn::LoadU(d, bias.slopes + row);
    for (size_t n = 0; n < keys; ++n) {
      const auto distance = hn::Abs(hn::Sub(first, hn::Set(di, static_cast<int32_t>(n))));
      hn::Store(hn::Mul(slope, hn::ConvertTo(d, distance)), d, to + n * rows + row);
    }
  }
  for (size_t r = 0; !close && r < rows; ++r) {
    const int64_t distance = bias.positions[std::min(r, tile.rows - 1)] - span.key;
    for (size_t n = 0; n < keys; ++n) {
      const int64_t size = std::abs(distance - static_cast<int64_t>(n));
      to[n * rows + r] = bias.slopes[r] * static_cast<float>(size);
    }
  }
}

// The bias of all listed keys of a chunk, as given, for all rows: scratch.bias[n * rows + r].
template <class D>
HWY_NOINLINE void FillBias(D d, const TileArgs& tile, const Chunk& chunk, size_t rows,
                           const TileScratch& scratch) {
  const BiasRows& bias = *tile.bias;
  for (size_t i = 0; i < chunk.span_count; ++i) {
    const ChunkSpan& span = chunk.spans[i];
    float* to = scratch.bias + span.begin * rows;
    if (bias.slopes != nullptr) {
      FillSlopes(d, tile, span, rows, scratch, to);
      continue;
    }
    const float* from[kMaxTileRows];
    for (size_t r = 0; r < tile.rows; ++r) {
      from[r] = bias.rows[r];
      if (bias.table_size == 0) {
        from[r] += span.key * bias.key_stride;
      } else {
        const int64_t first = span.key - bias.positions[r] + bias.table_size / 2;
        from[r] += kChunk + std::clamp(first, -kChunk, bias.table_size);
      }
    }
    TransposeBias(from, bias.table_size > 0 ? 1 : bias.key_stride, tile.rows, rows,
                  span.end - span.begin, to);
  }
}

// s += bias in units of log 2 for `count` scores, a multiple of the vector length. A bias of -inf
// masks: the score is selected away.
template <class D>
HWY_NOINLINE void AddBias(D d, size_t count, const float* HWY_RESTRICT bias,
                          float* HWY_RESTRICT s) {
  using V = hn::Vec<D>;
  const V most = hn::Set(d, std::numeric_limits<float>::max());
  const V neg_inf = hn::Set(d, -INFINITY);
  for (size_t n = 0; n < count; n += hn::Lanes(d)) {
    const V b = hn::Load(d, bias + n), score = hn::Load(d, s + n);
    const V y = hn::Mul(b, hn::Set(d, 0x1.715476p+0f));
    V x = hn::Add(score, y);
    if (HWY_UNLIKELY(!hn::AllTrue(d, hn::Le(hn::Abs(y), most)))) {
      x = hn::IfThenElse(hn::Eq(b, neg_inf), neg_inf, hn::Add(score, InLog2Units(d, b)));
    }
    hn::Store(x, d, s + n);
  }
}

// Softcap and bias of a chunk's scores.
template <class D>
HWY_INLINE void ApplyScoreTerms(D d, const TileArgs& tile, const Chunk& chunk, size_t rows,
                                const TileScratch& scratch) {
  const size_t count = chunk.keys * rows;
  if (tile.softcap > 0) CapScores(d, tile.softcap, count, scratch.s);
  if (tile.bias != nullptr) {
    FillBias(d, tile, chunk, rows, scratch);
    AddBias(d, count, scratch.bias, scratch.s);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_SCORE_TERMS_INL_H_
