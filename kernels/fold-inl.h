// The fold of chunks that were computed apart.

#if defined(SKIPATTN_KERNELS_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_FOLD_INL_H_
#undef SKIPATTN_KERNELS_FOLD_INL_H_
#else
#define SKIPATTN_KERNELS_FOLD_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/result-inl.h"
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

// The FoldFunction of the target.
inline bool Fold(const TileArgs& tile, size_t rows) {
  using V = hn::Vec<hn::ScalableTag<float>>;
  const hn::ScalableTag<float> d;
  const hn::CappedTag<float, 4> dr;  // whole ones fill the rows of any tile
  const size_t lanes = hn::Lanes(d);
  const TileScratch scratch(tile.scratch, rows, lanes, tile.dim, tile.v_dim, tile.bias != nullptr);
  std::fill_n(scratch.o, rows * scratch.o_stride, 0.0f);
  BeginRows(dr, tile, rows, scratch);
  for (size_t n = 0; n < tile.chunk_end; ++n) {
    const ChunkState chunk(tile, rows, lanes, n);
    for (size_t row = 0; row < rows; row += hn::Lanes(dr)) {
      FoldVector(dr, hn::Load(dr, chunk.max + row), hn::Load(dr, chunk.sum + row), scratch.state,
                 row);
    }
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
  return WriteResult(dr, tile, rows, scratch, tile.chunk_end == 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_FOLD_INL_H_
