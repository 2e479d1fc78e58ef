// How a tile's scratch is divided.
#ifndef SKIPATTN_KERNELS_SCRATCH_H_
#define SKIPATTN_KERNELS_SCRATCH_H_

#include <cstddef>
#include <cstdint>

#include "kernels/tile.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The state of a tile's rows between chunks, all [rows].
struct RowState {
  float* max;        // M
  float* sum;        // l
  float* chunk_max;  // m_c of the last chunk
  float* keep;       // 2^(M before - M): what the totals of o are multiplied by
  float* add;        // 2^(m_c - M): what the chunk's sums are multiplied by
};

/// Every part begins on a cache line.
struct TileScratch {
  float* qt;  // [dim][rows]: transposed queries times c
  float* s;   // [kChunk][rows]: scores, then weights
  float* o;   // [rows][o_stride]: totals
  size_t o_stride;
  RowState state;
  int32_t* lo;  // [rows]: bounds relative to a span
  int32_t* hi;
  float* bias;        // [kChunk][rows]: the numbers of a bias, as given; null without
  size_t floats = 0;  // all of it

  /// `rows` is vectors * lanes. With null scratch only the sizes mean something.
  TileScratch(float* base, size_t rows, size_t lanes, size_t dim, size_t v_dim, bool with_bias) {
    o_stride = (v_dim + lanes - 1) / lanes * lanes;
    qt = Take(base, dim * rows);
    s = Take(base, kChunk * rows);
    o = Take(base, rows * o_stride);
    float** each[] = {&state.max, &state.sum, &state.chunk_max, &state.keep, &state.add};
    for (float** one : each) *one = Take(base, rows);
    lo = reinterpret_cast<int32_t*>(Take(base, rows));
    hi = reinterpret_cast<int32_t*>(Take(base, rows));
    bias = with_bias ? Take(base, kChunk * rows) : nullptr;
  }

 private:
  float* Take(float* base, size_t count) {
    float* part = base == nullptr ? nullptr : base + floats;
    floats += (count + 15) / 16 * 16;
    return part;
  }
};

/// What one chunk leaves for a later fold, where a tile's keys are split.
struct ChunkState {
  float* o;    // [rows][o_stride]: o_c
  float* max;  // [rows]: m_c
  float* sum;  // [rows]: l_c

  /// The state number n of those of a tile.
  ChunkState(const TileArgs& tile, size_t rows, size_t lanes, size_t n) {
    o = tile.states + n * Floats(rows, lanes, tile.v_dim);
    max = o + rows * Stride(lanes, tile.v_dim);
    sum = max + rows;
  }

  static size_t Floats(size_t rows, size_t lanes, size_t v_dim) {
    return (rows * (Stride(lanes, v_dim) + 2) + 15) / 16 * 16;  // each begins on a cache line
  }

 private:
  static size_t Stride(size_t lanes, size_t v_dim) { return (v_dim + lanes - 1) / lanes * lanes; }
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_SCRATCH_H_
