// The state of a tile's rows: where it begins, and the fold of chunks that were computed apart.

#if defined(SKIPATTN_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_FOLD_INL_H_
#undef SKIPATTN_KERNELS_FOLD_INL_H_
#else
#define SKIPATTN_KERNELS_FOLD_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/result-inl.h"
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

// M and l of all rows go on by one chunk's m_c and l_c; leaves the factors for o.
template <class D>
HWY_INLINE void FoldRows(D d, size_t rows, const ChunkState& chunk, const RowState& state) {
  using V = hn::Vec<D>;
  for (size_t row = 0; row < rows; row += hn::Lanes(d)) {
    const V old_max = hn::Load(d, state.max + row), chunk_max = hn::Load(d, chunk.max + row);
    const V new_max = hn::Max(old_max, chunk_max);
    const V keep = PowerOfTwo(d, hn::Sub(old_max, new_max));
    const V add = PowerOfTwo(d, hn::Sub(chunk_max, new_max));
    const V sum = hn::Mul(hn::Load(d, chunk.sum + row), add);
    hn::Store(hn::MulAdd(hn::Load(d, state.sum + row), keep, sum), d, state.sum + row);
    hn::Store(new_max, d, state.max + row);
    hn::Store(keep, d, state.keep + row);
    hn::Store(add, d, state.add + row);
  }
}

// The FoldFunction of the target.
inline bool Fold(const TileArgs& tile, size_t rows) {
  using V = hn::Vec<hn::ScalableTag<float>>;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const TileScratch scratch(tile.scratch, rows, lanes, tile.dim, tile.v_dim);
  ResetRows(d, rows, scratch.state);
  std::fill_n(scratch.o, rows * scratch.o_stride, 0.0f);
  for (size_t n = 0; n < tile.chunk_end; ++n) {
    const ChunkState chunk(tile, rows, lanes, n);
    FoldRows(d, rows, chunk, scratch.state);
    for (size_t r = 0; r < tile.rows; ++r) {
      const V keep = hn::Set(d, scratch.state.keep[r]), add = hn::Set(d, scratch.state.add[r]);
      float* HWY_RESTRICT o = scratch.o + r * scratch.o_stride;
      const float* HWY_RESTRICT from = chunk.o + r * scratch.o_stride;
      for (size_t c = 0; c < scratch.o_stride; c += lanes) {
        const V part = hn::Mul(hn::Load(d, from + c), add);
        hn::Store(hn::MulAdd(hn::Load(d, o + c), keep, part), d, o + c);
      }
    }
  }
  return WriteResult(d, tile, rows, scratch);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_FOLD_INL_H_
