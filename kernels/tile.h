// The kernels' interface: one call computes one tile, up to 64 query rows that share a key head.
//
// A tile's equation, storage and edges are described in kernels/README.md.
#ifndef SKIPATTN_KERNELS_TILE_H_
#define SKIPATTN_KERNELS_TILE_H_

#include <cstddef>
#include <cstdint>

#include "plan/segment.h"
#include "skipattn/options.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Heights that are compiled: a tile has 1 to so many vectors of query rows.
inline constexpr int kMaxVectors = 4;

/// Register blocking of the two micro-kernels, for tiles of `score_vectors` vectors of rows; which
/// values win differs by target.
struct TileShape {
  int score_keys, score_vectors;  // scores: keys x vectors of query rows
  int sum_rows, sum_vectors;      // weighted sum: query rows x vectors of value columns
};

/// Where the numbers of a bias are, row by row.
struct BiasRows {
  const float* const* rows;  // [rows]: that of key 0; or a table with kChunk more of its first and
                             // its last value on either side
  ptrdiff_t key_stride;      // from key to key, where it is no table
  int64_t table_size;        // 0 = no table
  const float* slopes;       // [vectors * lanes]: instead of rows, slope * |position - key|
  const int64_t* positions;  // [rows]: i + offset, for slopes and tables
};

/// The states of rows between runs: {M, l, o}, T is float or const float.
template <class T>
struct StateRows {
  T* const* max;  // [rows]
  T* const* sum;
  T* const* out;  // each [v_dim]
};

struct TileArgs {
  size_t rows;            // live query rows, at most vectors * lanes
  const float* const* q;  // [rows], each [dim]
  float* const* out;      // [rows], each [v_dim]
  float* const* lse;      // [rows], or null
  const int64_t* lo;      // [rows]: bounds of the interval segments; may be null if there
  const int64_t* hi;      // are none
  size_t dim, v_dim;
  float q_scale;   // the contract's c: scale * log2(e)
  const float* k;  // key 0; key j is k + j * k_stride
  const float* v;
  ptrdiff_t k_stride, v_stride;
  const Segment* segments;
  size_t segment_count;
  const uint64_t* lane_bits;
  int64_t origin;  // where the chunk grid begins, 0 to 127
  EmptyRows empty_rows;
  int64_t k_len;                           // all keys, for the mean of v that empty rows may want
  float softcap;                           // the contract's g: softcap * log2(e); 0 = none
  const float* sinks;                      // [vectors * lanes], -inf = none; null without sinks
  const BiasRows* bias;                    // null without
  const StateRows<const float>* carry_in;  // where the fold begins; null = at nothing
  const StateRows<float>* carry_out;       // takes the state instead of out and lse; null = none
  float* scratch;                          // ScratchFloats() floats, 64-byte aligned

  // What the same thread computes next, to be fetched in the meantime, or null; and whether its
  // keys are others than this tile's.
  const TileArgs* next;
  bool next_keys;

  // Where the keys are split: instead of the result, the states of chunks [chunk_begin, chunk_end)
  // of those that have keys are left at `states`, each at its number times ChunkStateFloats().
  float* states;  // null otherwise
  size_t chunk_begin, chunk_end;
};

using TileFunction = void (*)(const TileArgs&);

/// Folds the states of chunks [0, chunk_end) of a tile of `rows` = vectors * lanes rows and writes
/// the result; q, k, v and the segments are not looked at. Returns whether a NaN was written: then
/// the tile must run whole, which tells masked keys from NaN by right.
using FoldFunction = bool (*)(const TileArgs&, size_t rows);

/// Writes `count` zeros.
using ZeroFunction = void (*)(float* to, size_t count);

/// One compiled configuration. `tile[n]` computes tiles of n + 1 vectors of rows.
struct TileConfig {
  const char* name;  // "4x3-6x2"
  TileShape shape;
  TileFunction tile[kMaxVectors];  // null above shape.score_vectors
};

/// Kernels for tiles of few rows, at most a vector of them.
inline constexpr int kMaxFewRows = 6;
struct FewRows {
  int most;    // rows that they may have; 0 = there is no such kernel
  int rows;    // that they are stored as, in scratch and states
  float cost;  // of a key, as in height_costs
  TileFunction tile;
};

/// All configurations of a target and type, the default first.
struct KernelTable {
  size_t lanes;  // f32 lanes of a vector
  const TileConfig* configs;
  size_t config_count;
  FewRows few[kMaxFewRows];  // by rising `most`
  FoldFunction fold;
  ZeroFunction zero;
  float height_costs[kMaxVectors];  // time of a key of tiles of n + 1 vectors; only ratios count
  float tile_keys;                  // what a tile costs beside its keys, in keys
};

/// The kernels of a compiled and supported target bit.
KernelTable KernelsF32(int64_t target);

/// Floats of scratch that a tile of at most `rows` = vectors * lanes rows needs, with a bias or
/// not.
size_t ScratchFloats(size_t rows, size_t lanes, size_t dim, size_t v_dim, bool bias);

/// Floats of the state that one chunk of such a tile leaves where its keys are split.
size_t ChunkStateFloats(size_t rows, size_t lanes, size_t v_dim);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_TILE_H_
