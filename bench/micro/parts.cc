// The kernels' headers compiled once more, with every part as a function of its own.
#include "bench/micro/parts.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "bench/micro/parts.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// clang-format: keep this order
#include "hwy/highway.h"
#include "kernels/configs-inl.h"
#include "kernels/dispatch.h"
#include "kernels/prefetch.h"
#include "kernels/rows.h"
#include "kernels/scores-inl.h"
#include "kernels/softmax-inl.h"
#include "kernels/transpose-inl.h"
#include "kernels/weighted_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
namespace bench {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;
namespace kernels = internal::HWY_NAMESPACE;
using internal::StridedRows;

template <int kKeys, int kVectors>
void RunScores(const ChunkOperands& c) {
  const hn::ScalableTag<float> d;
  const StridedRows k = {c.k, c.k_stride};
  const internal::TileArgs alone = {};  // no next tile to fetch
  internal::Prefetcher ahead(alone, 1);
  kernels::Scores<kKeys, kVectors>(d, k, c.keys, c.qt, c.dim, c.s, ahead);
}

template <int kRows, int kVectors>
void RunWeightedSum(const ChunkOperands& c) {
  const hn::ScalableTag<float> d;
  kernels::SumArgs<StridedRows> sum = {};
  sum.v = {c.v, c.v_stride};
  sum.v_dim = c.v_dim;
  sum.keys = c.keys;
  sum.p = c.s;
  sum.p_stride = c.rows;
  sum.o = c.o;
  sum.o_stride = c.o_stride;
  sum.keep = c.state.keep;
  sum.add = c.state.add;
  kernels::WeightedSum<kRows, kVectors>(d, sum, c.rows);
}

void RunSoftmax(const ChunkOperands& c) {
  const hn::ScalableTag<float> d;
  for (size_t row = 0; row < c.rows; row += hn::Lanes(d)) {
    kernels::ChunkSoftmax(d, c.keys, c.rows, c.s + row, c.state, row);
  }
}

void RunTranspose(const internal::TileArgs& tile, size_t rows, float* qt) {
  kernels::TransposeQueries(tile, rows, qt);
}

void RunExp2(const float* x, size_t count, float m, float* y) {
  const hn::ScalableTag<float> d;
  const auto max = hn::Set(d, m);
  for (size_t n = 0; n < count; n += hn::Lanes(d)) {
    hn::Store(kernels::Weight(d, hn::Load(d, x + n), max), d, y + n);
  }
}

template <int kKeys, int kVectors, int kRows, int kColumns>
constexpr ShapeParts PartsOfShape() {
  return {{kKeys, kVectors, kRows, kColumns},
          &RunScores<kKeys, kVectors>,
          &RunWeightedSum<kRows, kColumns>};
}

template <int kHeight>
constexpr ShapeParts BestOfHeight() {
  constexpr internal::TileShape kBest = kernels::kBestShapes[kHeight - 1];
  if constexpr (kBest.score_keys > 0) {
    return PartsOfShape<kBest.score_keys, kHeight, kBest.sum_rows, kBest.sum_vectors>();
  } else {
    return {};
  }
}

#define SKIPATTN_PARTS(keys, vectors, rows, columns) PartsOfShape<keys, vectors, rows, columns>(),

Parts Table() {
  static const ShapeParts kShapes[] = {SKIPATTN_TILE_CONFIGS(SKIPATTN_PARTS) BestOfHeight<1>(),
                                       BestOfHeight<2>(), BestOfHeight<3>(), BestOfHeight<4>()};
  static_assert(internal::kMaxVectors == 4, "a height is missing");
  return {hn::Lanes(hn::ScalableTag<float>()),
          kShapes,
          sizeof(kShapes) / sizeof(kShapes[0]),
          &RunTranspose,
          &RunSoftmax,
          &RunExp2};
}
#undef SKIPATTN_PARTS

}  // namespace HWY_NAMESPACE
}  // namespace bench
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipattn::bench {

HWY_EXPORT(Table);

Parts PartsOf(int64_t target) { return SKIPATTN_FUNCTION_OF(target, Table)(); }

}  // namespace skipattn::bench
#endif  // HWY_ONCE
