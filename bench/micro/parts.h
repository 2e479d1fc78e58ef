// The parts of a tile's kernel, each by itself, as functions of every compiled target.
#ifndef SKIPATTN_BENCH_MICRO_PARTS_H_
#define SKIPATTN_BENCH_MICRO_PARTS_H_

#include <cstddef>
#include <cstdint>

#include "kernels/scratch.h"
#include "kernels/tile.h"

namespace skipattn::bench {

/// Operands of one chunk, as kernels/README.md lays them out. Rows of k and v are equally spaced.
struct ChunkOperands {
  size_t rows;  ///< of the tile, live all: a multiple of the lanes
  size_t keys, dim, v_dim;
  const float* k;
  const float* v;
  ptrdiff_t k_stride, v_stride;
  const float* qt;
  float* s;  ///< scores or weights: [keys][rows]
  float* o;  ///< totals: [rows][o_stride]
  size_t o_stride;
  internal::RowState state;
};

using ChunkFunction = void (*)(const ChunkOperands&);

/// The micro-kernels of one shape; null where there is none.
struct ShapeParts {
  internal::TileShape shape;
  ChunkFunction scores;
  ChunkFunction weighted_sum;
};

struct Parts {
  size_t lanes;
  const ShapeParts* shapes;  ///< of the configurations, the default first; then of lower tiles
  size_t shape_count;
  void (*transpose)(const internal::TileArgs& tile, size_t rows, float* qt);
  ChunkFunction softmax;  ///< of all rows

  /// y[n] = the weight of score x[n] under the maximum m; count is a multiple of the lanes.
  void (*exp2)(const float* x, size_t count, float m, float* y);
};

/// Of a compiled and supported target bit.
Parts PartsOf(int64_t target);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_MICRO_PARTS_H_
