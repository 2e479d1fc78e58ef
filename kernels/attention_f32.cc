// f32 attention kernels of every target: the configurations and their table.
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

#ifdef __FAST_MATH__
#error "the exact arithmetic needs IEEE floating point: compile without -ffast-math"
#endif

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

template <int kKeys, int kVectors, int kHeight, int kSumRows, int kSumVectors>
constexpr TileFunction TileOf() {
  if constexpr (kHeight <= kVectors) {
    return &Tile<kKeys, kHeight, kSumRows, kSumVectors>;
  } else {
    return nullptr;
  }
}

#define SKIPATTN_CONFIG(keys, vectors, rows, columns)                                        \
  TileConfig{                                                                                \
      #keys "x" #vectors "-" #rows "x" #columns,                                             \
      {keys, vectors, rows, columns},                                                        \
      {TileOf<keys, vectors, 1, rows, columns>(), TileOf<keys, vectors, 2, rows, columns>(), \
       TileOf<keys, vectors, 3, rows, columns>(), TileOf<keys, vectors, 4, rows, columns>()}},

KernelTable Table() {
  static const TileConfig kConfigs[] = {SKIPATTN_TILE_CONFIGS(SKIPATTN_CONFIG)};
  return {hn::Lanes(hn::ScalableTag<float>()), kConfigs, sizeof(kConfigs) / sizeof(kConfigs[0]),
          &Fold};
}
#undef SKIPATTN_CONFIG

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

size_t ScratchFloats(size_t rows, size_t lanes, size_t dim, size_t v_dim) {
  return TileScratch(nullptr, rows, lanes, dim, v_dim).floats;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
#endif  // HWY_ONCE
