// The compiled tile shapes of each target, and what they cost.

#if defined(SKIPATTN_KERNELS_CONFIGS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_CONFIGS_INL_H_
#undef SKIPATTN_KERNELS_CONFIGS_INL_H_
#else
#define SKIPATTN_KERNELS_CONFIGS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/tile.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

// kBestShapes[h - 1] is the best shape of tiles of h vectors of rows, kHeightCosts[h - 1] the time
// of one of their keys. A configuration (X: keys x vectors, rows x columns) names the shape of its
// tallest tiles; lower ones take the best. The first one is the default.
//
// SKIPATTN_FEW_ROWS lists the kernels for tiles of at most so many rows, from few to more: with
// keys in lanes (KEYS: rows, vectors of columns of the weighted sum, time of a key), or with
// queries in the lanes of a vector of just so many rows (QUERIES: rows, keys of a score block, rows
// x vectors of the weighted sum, time of a key). They fetch ahead, as little work waits for memory.
//
// Measured on one core of a Zen 4, gcc 12, D 64, operands in L1, ns per key (share of peak); few
// rows at D 128, operands in L2, ns per key beside those of one vector of queries.
#undef SKIPATTN_TILE_CONFIGS
#undef SKIPATTN_FEW_ROWS
#if HWY_TARGET == HWY_AVX2
// 16 registers for accumulators, a vector of operands per column and a broadcast. 8x1-4x2 24.1 ns
// (72 %), against 27-30 for 4 and 5 keys, whose chains wait for each other; 5x2-6x2 42.7 (82 %),
// 6x2-6x2 43.0 (gcc spills row pointers), 4x2-4x2 46; 4x3-6x2 61.6 (86 %), 3x3-6x2 63, 4x3-4x2 66.
// 3x4 spills: 55 % in place.
constexpr TileShape kBestShapes[kMaxVectors] = {{8, 1, 4, 2}, {5, 2, 6, 2}, {4, 3, 6, 2}, {}};
constexpr float kHeightCosts[kMaxVectors] = {1.0f, 1.78f, 2.56f, 0.0f};
#define SKIPATTN_TILE_CONFIGS(X) X(4, 3, 6, 2) X(5, 2, 6, 2) X(3, 3, 6, 2) X(4, 2, 4, 2)
// 1, 2, 3, 4 rows 26, 32, 33, 37 ns against 39, 41, 42, 44; 8 rows 53.
#define SKIPATTN_FEW_ROWS                                                      \
  {                                                                            \
    KEYS(1, 4, 0.49f), KEYS(2, 4, 0.6f), KEYS(3, 3, 0.63f), KEYS(4, 2, 0.69f), \
        QUERIES(8, 8, 4, 2, 1.0f)                                              \
  }
#elif HWY_ARCH_X86 && HWY_MAX_BYTES < 64
// Not measured beyond this one shape: the baseline is there to work.
constexpr TileShape kBestShapes[kMaxVectors] = {{4, 1, 4, 2}, {4, 2, 4, 2}, {}, {}};
constexpr float kHeightCosts[kMaxVectors] = {1.0f, 1.8f, 0.0f, 0.0f};
#define SKIPATTN_TILE_CONFIGS(X) X(4, 2, 4, 2)
// 1, 2 rows 38, 47 ns against 60, 64; 4 rows 74.
#define SKIPATTN_FEW_ROWS \
  { KEYS(1, 4, 0.5f), KEYS(2, 4, 0.63f), QUERIES(4, 4, 4, 2, 1.0f) }
#else
// 32 registers. Per vector of rows all heights cost the same here (38 ns, 92 %), and so do 8x2-8x2,
// 6x3-8x3, 5x4-6x4; 3 keys x 1 lose 8 %. In place (T 512) tall tiles win, as they read k and v from
// L2 less often: 4x4-6x4 89 %, 8x2-6x4 84 %.
constexpr TileShape kBestShapes[kMaxVectors] = {
    {8, 1, 6, 4}, {8, 2, 6, 4}, {6, 3, 6, 4}, {4, 4, 6, 4}};
constexpr float kHeightCosts[kMaxVectors] = {1.06f, 2.06f, 3.04f, 4.0f};
#define SKIPATTN_TILE_CONFIGS(X) X(4, 4, 6, 4) X(8, 2, 6, 4) X(6, 3, 6, 4) X(6, 4, 6, 4)
#if HWY_ARCH_X86
// 1, 2, 3, 4 rows 25, 27, 29, 30 ns against 49 to 51; 8 rows 47 against 62; 16 rows 78.
#define SKIPATTN_FEW_ROWS                                                       \
  {                                                                             \
    KEYS(1, 4, 0.34f), KEYS(2, 4, 0.37f), KEYS(3, 4, 0.39f), KEYS(4, 4, 0.41f), \
        QUERIES(8, 8, 4, 4, 0.64f), QUERIES(16, 8, 6, 4, 1.06f)                 \
  }
#else
// Not measured. Vectors of four keys: a step of one row takes 3/4 of the instructions, of two as
// many.
#define SKIPATTN_FEW_ROWS \
  { KEYS(1, 4, 0.8f), QUERIES(4, 8, 4, 4, 1.06f) }
#endif
#endif

// Beginning and ending a tile takes as long as so many of its keys, at any height.
constexpr float kTileKeys = 5;

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_CONFIGS_INL_H_
