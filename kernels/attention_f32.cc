// f32 attention kernels of every target: the configurations and their table.
#include <algorithm>
#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention_f32.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// clang-format: keep this order
#include "hwy/highway.h"
#include "kernels/configs-inl.h"
#include "kernels/dispatch.h"
#include "kernels/fold-inl.h"
#include "kernels/tile-inl.h"
#include "kernels/tile.h"
#include "kernels/zero-inl.h"

#ifdef __FAST_MATH__
#error "the exact arithmetic needs IEEE floating point: compile without -ffast-math"
#endif

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

// The function for tiles of kHeight vectors of a configuration whose tallest tiles are given.
template <int kKeys, int kVectors, int kRows, int kColumns, int kHeight>
constexpr TileFunction TileOf() {
  constexpr TileShape kBest = kBestShapes[kHeight - 1];
  if constexpr (kHeight == kVectors) {
    return &Tile<QueryLanes<hn::ScalableTag<float>, kKeys, kVectors, kRows, kColumns>>;
  } else if constexpr (kHeight < kVectors) {
    return &Tile<QueryLanes<hn::ScalableTag<float>, kBest.score_keys, kHeight, kBest.sum_rows,
                            kBest.sum_vectors>>;
  } else {
    return nullptr;
  }
}

#define SKIPATTN_CONFIG(keys, vectors, rows, columns)                                        \
  TileConfig{                                                                                \
      #keys "x" #vectors "-" #rows "x" #columns,                                             \
      {keys, vectors, rows, columns},                                                        \
      {TileOf<keys, vectors, rows, columns, 1>(), TileOf<keys, vectors, rows, columns, 2>(), \
       TileOf<keys, vectors, rows, columns, 3>(), TileOf<keys, vectors, rows, columns, 4>()}},

// The entries of SKIPATTN_FEW_ROWS; those with keys in lanes store four rows at least.
#define KEYS(rows, sum_vectors, cost) \
  { rows, kKeyRows, cost, &Tile<KeyLanes<rows, sum_vectors>> }
#define QUERIES(rows, keys, sum_rows, sum_vectors, cost)                              \
  {                                                                                   \
    rows, rows, cost,                                                                 \
        &Tile<FewQueryLanes<hn::CappedTag<float, rows>, keys, sum_rows, sum_vectors>> \
  }

KernelTable Table() {
  static const TileConfig kConfigs[] = {SKIPATTN_TILE_CONFIGS(SKIPATTN_CONFIG)};
  KernelTable table = {};
  table.lanes = hn::Lanes(hn::ScalableTag<float>());
  table.configs = kConfigs;
  table.config_count = sizeof(kConfigs) / sizeof(kConfigs[0]);
  static constexpr FewRows kFew[] = SKIPATTN_FEW_ROWS;
  std::copy(std::begin(kFew), std::end(kFew), table.few);
  table.fold = &Fold;
  table.zero = &Zero;
  std::copy(kHeightCosts, kHeightCosts + kMaxVectors, table.height_costs);
  table.tile_keys = kTileKeys;
  return table;
}
#undef SKIPATTN_CONFIG
#undef KEYS
#undef QUERIES

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipattn {
inline namespace v0 {
namespace internal {

HWY_EXPORT(Table);

KernelTable KernelsF32(int64_t target) { return SKIPATTN_FUNCTION_OF(target, Table)(); }

size_t ChunkStateFloats(size_t rows, size_t lanes, size_t v_dim) {
  return ChunkState::Floats(rows, lanes, v_dim);
}

size_t ScratchFloats(size_t rows, size_t lanes, size_t dim, size_t v_dim, bool bias) {
  return TileScratch(nullptr, rows, lanes, dim, v_dim, bias).floats;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
#endif  // HWY_ONCE
