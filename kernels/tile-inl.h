// One tile: transposed queries, then per chunk of keys scores, mask, softmax and weighted sum, then
// the result. kernels/README.md has the equation and the storage.

#if defined(SKIPATTN_KERNELS_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_TILE_INL_H_
#undef SKIPATTN_KERNELS_TILE_INL_H_
#else
#define SKIPATTN_KERNELS_TILE_INL_H_
#endif

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/chunk.h"
#include "kernels/fold-inl.h"
#include "kernels/key_prefetch.h"
#include "kernels/key_scores-inl.h"
#include "kernels/prefetch.h"
#include "kernels/result-inl.h"
#include "kernels/rows.h"
#include "kernels/score_terms-inl.h"
#include "kernels/scores-inl.h"
#include "kernels/scratch.h"
#include "kernels/select-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/state-inl.h"
#include "kernels/tile.h"
#include "kernels/transpose-inl.h"
#include "kernels/weighted_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// How tiles of kVectors vectors of rows are computed, queries in lanes. A vector of rows is short
// (`RowTag`) where they are few; one of value columns is always whole.
template <class Tag, int kKeys, int kVectors_, int kSumRows_, int kSumVectors_>
struct QueryLanes {
  using RowTag = Tag;
  static constexpr int kVectors = kVectors_, kSumRows = kSumRows_, kSumVectors = kSumVectors_;
  static constexpr size_t kScoreKeys = kKeys;
  using Ahead = Prefetcher;

  template <class Rows, class AnyAhead>
  static HWY_INLINE void Score(const Rows& k, size_t keys, const TileArgs& tile,
                               const TileScratch& scratch, AnyAhead& ahead) {
    Scores<kKeys, kVectors>(RowTag(), k, keys, scratch.qt, tile.dim, scratch.s, ahead);
  }
};

// The same for tiles of few rows, which fetch their keys ahead.
template <class Tag, int kKeys, int kSumRows, int kSumVectors>
struct FewQueryLanes : QueryLanes<Tag, kKeys, 1, kSumRows, kSumVectors> {
  using Ahead = KeyPrefetcher;
};

// Tiles of at most kRows <= 4 rows, scored with keys in lanes. All else has queries in lanes.
template <int kRows, int kSumVectors>
struct KeyLanes : FewQueryLanes<hn::CappedTag<float, kKeyRows>, 2 * kKeyLanes, kRows, kSumVectors> {
  template <class Rows>
  static HWY_INLINE void Score(const Rows& k, size_t keys, const TileArgs& tile,
                               const TileScratch& scratch, KeyPrefetcher& ahead) {
    KeyScores<kRows>(k, keys, scratch.qt, tile.dim, scratch.s, ahead);
  }
};

// What a chunk's sums do with the totals of o.
enum class ChunkPass {
  kFirst,   // write them: there was no chunk before
  kNext,    // fold into them
  kSelect,  // fold row by row, leaving out masked keys; the totals begin at 0
};

// Scores, mask, softmax and weighted sum of one chunk, for k and v rows found by `Rows`.
template <class Shape, class Rows>
HWY_INLINE void RunChunk(const TileArgs& tile, const Chunk& chunk, const Rows& k, const Rows& v,
                         const TileScratch& scratch, typename Shape::Ahead& ahead, ChunkPass pass) {
  const typename Shape::RowTag dr;
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(dr);
  const size_t rows = Shape::kVectors * lanes;
  Shape::Score(k, chunk.keys, tile, scratch, ahead);
  if (tile.softcap > 0 || tile.bias != nullptr) ApplyScoreTerms(dr, tile, chunk, rows, scratch);
  MaskScores(dr, tile, chunk, rows, scratch);
  for (size_t row = 0; row < rows; row += lanes) {
    ChunkSoftmax(dr, chunk.keys, rows, scratch.s + row, scratch.state, row);
  }
  SumArgs<decltype(ahead.With(v))> sum = {};
  sum.v = ahead.With(v);
  sum.v_dim = tile.v_dim;
  sum.keys = chunk.keys;
  sum.p = scratch.s;
  sum.p_stride = rows;
  sum.o = scratch.o;
  sum.o_stride = scratch.o_stride;
  sum.keep = scratch.state.keep;
  sum.add = scratch.state.add;
  sum.first = pass == ChunkPass::kFirst;
  if (pass == ChunkPass::kSelect) {
    SelectedSum<Shape::kSumVectors>(d, tile, chunk, sum, scratch);
  } else {
    WeightedSum<Shape::kSumRows, Shape::kSumVectors>(d, sum, tile.rows);
  }
}

// The same for a chunk whose keys may lie anywhere.
template <class Shape>
HWY_INLINE void RunAnyChunk(const TileArgs& tile, const Chunk& chunk, const TileScratch& scratch,
                            typename Shape::Ahead& ahead, ChunkPass pass) {
  ahead.Begin(Shape::kScoreKeys);
  if (chunk.contiguous) {
    const int64_t key = chunk.spans[0].key;
    const StridedRows k = {tile.k + key * tile.k_stride, tile.k_stride};
    const StridedRows v = {tile.v + key * tile.v_stride, tile.v_stride};
    RunChunk<Shape>(tile, chunk, k, v, scratch, ahead, pass);
  } else {
    const PointerRows k = {chunk.k_rows}, v = {chunk.v_rows};
    RunChunk<Shape>(tile, chunk, k, v, scratch, ahead, pass);
  }
}

inline size_t KeysOf(const TileArgs& tile) {
  int64_t keys = 0;
  for (size_t s = 0; s < tile.segment_count; ++s) {
    keys += tile.segments[s].end - tile.segments[s].begin;
  }
  return static_cast<size_t>(keys);
}

// Computes and writes the tile; returns whether a NaN was written. `pass`: kFirst or kSelect.
template <class Shape>
HWY_INLINE bool RunTile(const TileArgs& tile, const TileScratch& scratch, ChunkPass pass) {
  const typename Shape::RowTag dr;
  const size_t rows = Shape::kVectors * hn::Lanes(dr);
  const bool select = pass == ChunkPass::kSelect;
  if (BeginRows(dr, tile, rows, scratch)) {
    if (!select) pass = ChunkPass::kNext;
  } else if (select) {
    std::fill_n(scratch.o, tile.rows * scratch.o_stride, 0.0f);
  }
  typename Shape::Ahead ahead(tile, KeysOf(tile) / Shape::kScoreKeys);
  ChunkReader reader(tile);
  Chunk chunk;
  while (reader.Next(chunk)) {
    RunAnyChunk<Shape>(tile, chunk, scratch, ahead, pass);
    if (pass == ChunkPass::kFirst) pass = ChunkPass::kNext;
  }
  return WriteResult(dr, tile, rows, scratch, select);
}

// Leaves the states of the tile's chunks [chunk_begin, chunk_end): each as if it were the first.
template <class Shape>
HWY_INLINE void RunPart(const TileArgs& tile, TileScratch scratch) {
  const typename Shape::RowTag dr;
  const size_t rows = Shape::kVectors * hn::Lanes(dr);
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  const size_t keys = (tile.chunk_end - tile.chunk_begin) * kChunk;
  typename Shape::Ahead ahead(tile, keys / Shape::kScoreKeys);
  ChunkReader reader(tile);
  Chunk chunk;
  for (size_t n = 0; n < tile.chunk_end && reader.Next(chunk); ++n) {
    if (n < tile.chunk_begin) continue;
    const ChunkState state(tile, rows, lanes, n);
    ResetRows(dr, rows, scratch.state);
    scratch.o = state.o;
    RunAnyChunk<Shape>(tile, chunk, scratch, ahead, ChunkPass::kFirst);
    std::copy_n(scratch.state.chunk_max, rows, state.max);
    std::copy_n(scratch.state.sum, rows, state.sum);
  }
}

// The TileFunction of one configuration and height.
//
// A masked key adds p * v = 0 only while v is finite: 0 * Inf is NaN. Such rows are rare and show
// up in the result, so a tile that wrote a NaN runs again, this time leaving masked keys out of
// each row's sum. What is NaN by right is NaN again.
template <class Shape>
void Tile(const TileArgs& tile) {
  const size_t rows = Shape::kVectors * hn::Lanes(typename Shape::RowTag());
  const size_t lanes = hn::Lanes(hn::ScalableTag<float>());
  const TileScratch scratch(tile.scratch, rows, lanes, tile.dim, tile.v_dim, tile.bias != nullptr);
  TransposeQueries(tile, rows, scratch.qt);
  if (tile.states != nullptr) {
    RunPart<Shape>(tile, scratch);
  } else if (RunTile<Shape>(tile, scratch, ChunkPass::kFirst)) {
    RunTile<Shape>(tile, scratch, ChunkPass::kSelect);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_TILE_INL_H_
