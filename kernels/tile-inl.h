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

// What a chunk's sums do with the totals of o.
enum class ChunkPass {
  kFirst,   // write them: there was no chunk before
  kNext,    // fold into them
  kSelect,  // fold row by row, leaving out masked keys; the totals begin at 0
};

// Scores, mask, softmax and weighted sum of one chunk, for k and v rows found by `Rows`.
template <int kKeys, int kVectors, int kSumRows, int kSumVectors, class D, class Rows>
HWY_INLINE void RunChunk(D d, const TileArgs& tile, const Chunk& chunk, const Rows& k,
                         const Rows& v, const TileScratch& scratch, Prefetcher& ahead,
                         ChunkPass pass) {
  const size_t lanes = hn::Lanes(d);
  const size_t rows = kVectors * lanes;
  Scores<kKeys, kVectors>(d, k, chunk.keys, scratch.qt, tile.dim, scratch.s, ahead);
  if (tile.softcap > 0 || tile.bias != nullptr) ApplyScoreTerms(d, tile, chunk, rows, scratch);
  MaskScores(d, tile, chunk, rows, scratch);
  for (size_t row = 0; row < rows; row += lanes) {
    ChunkSoftmax(d, chunk.keys, rows, scratch.s + row, scratch.state, row);
  }
  SumArgs<Rows> sum = {};
  sum.v = v;
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
    SelectedSum<kSumVectors>(d, tile, chunk, sum, scratch);
  } else {
    WeightedSum<kSumRows, kSumVectors>(d, sum, tile.rows);
  }
}

// The same for a chunk whose keys may lie anywhere.
template <int kKeys, int kVectors, int kSumRows, int kSumVectors, class D>
HWY_INLINE void RunAnyChunk(D d, const TileArgs& tile, const Chunk& chunk,
                            const TileScratch& scratch, Prefetcher& ahead, ChunkPass pass) {
  if (chunk.contiguous) {
    const int64_t key = chunk.spans[0].key;
    const StridedRows k = {tile.k + key * tile.k_stride, tile.k_stride};
    const StridedRows v = {tile.v + key * tile.v_stride, tile.v_stride};
    RunChunk<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, chunk, k, v, scratch, ahead, pass);
  } else {
    const PointerRows k = {chunk.k_rows}, v = {chunk.v_rows};
    RunChunk<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, chunk, k, v, scratch, ahead, pass);
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
template <int kKeys, int kVectors, int kSumRows, int kSumVectors, class D>
HWY_INLINE bool RunTile(D d, const TileArgs& tile, const TileScratch& scratch, ChunkPass pass) {
  const size_t rows = kVectors * hn::Lanes(d);
  const bool select = pass == ChunkPass::kSelect;
  if (BeginRows(d, tile, rows, scratch)) {
    if (!select) pass = ChunkPass::kNext;
  } else if (select) {
    std::fill_n(scratch.o, tile.rows * scratch.o_stride, 0.0f);
  }
  Prefetcher ahead(tile, KeysOf(tile) / kKeys);
  ChunkReader reader(tile);
  Chunk chunk;
  while (reader.Next(chunk)) {
    RunAnyChunk<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, chunk, scratch, ahead, pass);
    if (pass == ChunkPass::kFirst) pass = ChunkPass::kNext;
  }
  return WriteResult(d, tile, rows, scratch, select);
}

// Leaves the states of the tile's chunks [chunk_begin, chunk_end): each as if it were the first.
template <int kKeys, int kVectors, int kSumRows, int kSumVectors, class D>
HWY_INLINE void RunPart(D d, const TileArgs& tile, TileScratch scratch) {
  const size_t rows = kVectors * hn::Lanes(d);
  Prefetcher ahead(tile, (tile.chunk_end - tile.chunk_begin) * kChunk / kKeys);
  ChunkReader reader(tile);
  Chunk chunk;
  for (size_t n = 0; n < tile.chunk_end && reader.Next(chunk); ++n) {
    if (n < tile.chunk_begin) continue;
    const ChunkState state(tile, rows, hn::Lanes(d), n);
    ResetRows(d, rows, scratch.state);
    scratch.o = state.o;
    RunAnyChunk<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, chunk, scratch, ahead,
                                                        ChunkPass::kFirst);
    std::copy_n(scratch.state.chunk_max, rows, state.max);
    std::copy_n(scratch.state.sum, rows, state.sum);
  }
}

// The TileFunction of one configuration and height.
//
// A masked key adds p * v = 0 only while v is finite: 0 * Inf is NaN. Such rows are rare and show
// up in the result, so a tile that wrote a NaN runs again, this time leaving masked keys out of
// each row's sum. What is NaN by right is NaN again.
template <int kKeys, int kVectors, int kSumRows, int kSumVectors>
void Tile(const TileArgs& tile) {
  const hn::ScalableTag<float> d;
  const size_t lanes = hn::Lanes(d);
  const TileScratch scratch(tile.scratch, kVectors * lanes, lanes, tile.dim, tile.v_dim,
                            tile.bias != nullptr);
  TransposeQueries(tile, kVectors * lanes, scratch.qt);
  if (tile.states != nullptr) {
    RunPart<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, scratch);
  } else if (RunTile<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, scratch, ChunkPass::kFirst)) {
    RunTile<kKeys, kVectors, kSumRows, kSumVectors>(d, tile, scratch, ChunkPass::kSelect);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_TILE_INL_H_
