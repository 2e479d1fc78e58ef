// Masks inside partly masked segments: scores selected away, and sums that leave masked keys out.

#if defined(SKIPATTN_KERNELS_SELECT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_SELECT_INL_H_
#undef SKIPATTN_KERNELS_SELECT_INL_H_
#else
#define SKIPATTN_KERNELS_SELECT_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/chunk.h"
#include "kernels/scratch.h"
#include "kernels/softmax-inl.h"
#include "kernels/tile.h"
#include "kernels/weighted_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Scores of an interval span: key n of the span is kept in the rows whose bounds hold it. The
// bounds are taken relative to the span first, so that 32-bit lanes do for any position.
template <class D>
HWY_INLINE void MaskInterval(D d, const TileArgs& tile, const ChunkSpan& span, size_t rows,
                             const TileScratch& scratch) {
  const hn::RebindToSigned<D> di;
  const size_t lanes = hn::Lanes(d);
  for (size_t r = 0; r < rows; ++r) {
    const bool live = r < tile.rows;
    const int64_t lo = live ? tile.lo[r] - span.key : 0;
    const int64_t hi = live ? tile.hi[r] - span.key : 0;
    scratch.lo[r] = static_cast<int32_t>(std::clamp<int64_t>(lo, 0, kChunk));
    scratch.hi[r] = static_cast<int32_t>(std::clamp<int64_t>(hi, 0, kChunk));
  }
  for (size_t row = 0; row < rows; row += lanes) {
    const auto lo = hn::Load(di, scratch.lo + row);
    const auto hi = hn::Load(di, scratch.hi + row);
    for (size_t n = span.begin; n < span.end; ++n) {
      const auto key = hn::Set(di, static_cast<int32_t>(n - span.begin));
      const auto live = hn::AndNot(hn::Lt(key, lo), hn::Lt(key, hi));
      float* HWY_RESTRICT s = scratch.s + n * rows + row;
      hn::Store(hn::IfThenElse(hn::RebindMask(d, live), hn::Load(d, s), hn::Set(d, -INFINITY)), d,
                s);
    }
  }
}

// The same from a lane word per key.
template <class D>
HWY_INLINE void MaskBits(D d, const ChunkSpan& span, size_t rows, const TileScratch& scratch) {
  const size_t lanes = hn::Lanes(d);
  for (size_t n = span.begin; n < span.end; ++n) {
    const uint64_t word = span.bits[n - span.begin];
    for (size_t row = 0; row < rows; row += lanes) {
      const uint64_t part = word >> row;
      const auto live = hn::LoadMaskBits(d, reinterpret_cast<const uint8_t*>(&part));
      float* HWY_RESTRICT s = scratch.s + n * rows + row;
      hn::Store(hn::IfThenElse(live, hn::Load(d, s), hn::Set(d, -INFINITY)), d, s);
    }
  }
}

// Full spans run no mask code.
template <class D>
HWY_INLINE void MaskScores(D d, const TileArgs& tile, const Chunk& chunk, size_t rows,
                           const TileScratch& scratch) {
  for (size_t i = 0; i < chunk.span_count; ++i) {
    const ChunkSpan& span = chunk.spans[i];
    if (span.kind == SegmentKind::kInterval) MaskInterval(d, tile, span, rows, scratch);
    if (span.kind == SegmentKind::kBits) MaskBits(d, span, rows, scratch);
  }
}

// Whether row r attends listed key n of the span.
inline bool RowAttends(const TileArgs& tile, const ChunkSpan& span, size_t n, size_t r) {
  const int64_t key = span.key + static_cast<int64_t>(n - span.begin);
  switch (span.kind) {
    case SegmentKind::kInterval:
      return tile.lo[r] <= key && key < tile.hi[r];
    case SegmentKind::kBits:
      return (span.bits[n - span.begin] >> r) & 1;
    case SegmentKind::kFull:
      break;
  }
  return true;
}

// The weighted sum of one chunk row by row, over just the keys that the row attends. A row whose
// scores are all -inf gains nothing from the chunk, whatever its v. The totals must have been set.
template <int kSumVectors, class D, class Rows>
HWY_NOINLINE void SelectedSum(D d, const TileArgs& tile, const Chunk& chunk,
                              const SumArgs<Rows>& sum, const TileScratch& scratch) {
  const float* v_rows[kChunk];
  float weights[kChunk];
  for (size_t r = 0; r < tile.rows; ++r) {
    if (scratch.state.chunk_max[r] == -INFINITY) continue;
    size_t keys = 0;
    for (size_t i = 0; i < chunk.span_count; ++i) {
      const ChunkSpan& span = chunk.spans[i];
      for (size_t n = span.begin; n < span.end; ++n) {
        if (!RowAttends(tile, span, n, r)) continue;
        if (scratch.bias != nullptr && scratch.bias[n * sum.p_stride + r] == -INFINITY) continue;
        v_rows[keys] = sum.v[n];
        weights[keys++] = sum.p[n * sum.p_stride + r];
      }
    }
    SumArgs<PointerRows> one = {};
    one.v = {v_rows};
    one.v_dim = sum.v_dim;
    one.keys = keys;
    one.p = weights;
    one.p_stride = 1;
    one.o = sum.o + r * sum.o_stride;
    one.o_stride = sum.o_stride;
    one.keep = sum.keep + r;
    one.add = sum.add + r;
    WeightedSum<1, kSumVectors>(d, one, 1);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_SELECT_INL_H_
