// Micro-kernel "scores": s[key][row] = sum over d of k[key][d] * qt[d][row], queries in lanes.

// Toggled, as this file is compiled once per target.
#if defined(SKIPATTN_KERNELS_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_SCORES_INL_H_
#undef SKIPATTN_KERNELS_SCORES_INL_H_
#else
#define SKIPATTN_KERNELS_SCORES_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/repeat.h"
#include "kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// kKeys x kVectors accumulators, one fma chain over d each, from +0. Those beyond kKeys or kVectors
// vanish.
template <int kKeys, int kVectors, class D, class Rows>
HWY_INLINE void ScoreBlock(D d, const Rows& k, size_t key, const float* HWY_RESTRICT qt, size_t dim,
                           float* HWY_RESTRICT s) {
  static_assert(kKeys <= 8 && kVectors <= 4, "no more names");
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);

#define SKIPATTN_DECLARE(m)                                                       \
  [[maybe_unused]] const float* HWY_RESTRICT k##m = k[key + (m < kKeys ? m : 0)]; \
  [[maybe_unused]] V c##m##0 = hn::Zero(d), c##m##1 = c##m##0, c##m##2 = c##m##0, c##m##3 = c##m##0;
  SKIPATTN_REPEAT_8(SKIPATTN_DECLARE);
#undef SKIPATTN_DECLARE

#define SKIPATTN_STEP(m)                                              \
  if constexpr (m < kKeys) {                                          \
    const V a = hn::Set(d, k##m[i]);                                  \
    c##m##0 = hn::MulAdd(a, b0, c##m##0);                             \
    if constexpr (kVectors > 1) c##m##1 = hn::MulAdd(a, b1, c##m##1); \
    if constexpr (kVectors > 2) c##m##2 = hn::MulAdd(a, b2, c##m##2); \
    if constexpr (kVectors > 3) c##m##3 = hn::MulAdd(a, b3, c##m##3); \
  }
  HWY_UNROLL(4) for (size_t i = 0; i < dim; ++i) {
    const V b0 = hn::Load(d, qt);
    [[maybe_unused]] V b1 = b0, b2 = b0, b3 = b0;
    if constexpr (kVectors > 1) b1 = hn::Load(d, qt + lanes);
    if constexpr (kVectors > 2) b2 = hn::Load(d, qt + 2 * lanes);
    if constexpr (kVectors > 3) b3 = hn::Load(d, qt + 3 * lanes);
    qt += kVectors * lanes;
    SKIPATTN_REPEAT_8(SKIPATTN_STEP);
  }
#undef SKIPATTN_STEP

#define SKIPATTN_STORE(m)                                              \
  if constexpr (m < kKeys) {                                           \
    float* HWY_RESTRICT to = s + m * kVectors * lanes;                 \
    hn::Store(c##m##0, d, to);                                         \
    if constexpr (kVectors > 1) hn::Store(c##m##1, d, to + lanes);     \
    if constexpr (kVectors > 2) hn::Store(c##m##2, d, to + 2 * lanes); \
    if constexpr (kVectors > 3) hn::Store(c##m##3, d, to + 3 * lanes); \
  }
  SKIPATTN_REPEAT_8(SKIPATTN_STORE);
#undef SKIPATTN_STORE
}

// The last keys % kKeys keys, by a block of just that size: one-key blocks would run at a fraction
// of the speed.
template <int kKeys, int kVectors, class D, class Rows>
HWY_INLINE void ScoreTail(D d, const Rows& k, size_t key, size_t count,
                          const float* HWY_RESTRICT qt, size_t dim, float* HWY_RESTRICT s) {
  if constexpr (kKeys > 0) {
    if (count == kKeys) {
      ScoreBlock<kKeys, kVectors>(d, k, key, qt, dim, s);
    } else {
      ScoreTail<kKeys - 1, kVectors>(d, k, key, count, qt, dim, s);
    }
  }
}

// Scores of `keys` keys for kVectors vectors of rows. qt: [dim][rows], s: [keys][rows], both with
// rows = kVectors * lanes and aligned. `ahead` goes on by a step per block.
template <int kKeys, int kVectors, class D, class Rows, class Ahead>
HWY_NOINLINE void Scores(D d, const Rows& k, size_t keys, const float* HWY_RESTRICT qt, size_t dim,
                         float* HWY_RESTRICT s, Ahead& ahead) {
  const size_t rows = kVectors * hn::Lanes(d);
  size_t key = 0;
  for (; key + kKeys <= keys; key += kKeys) {
    ahead.Step();
    ScoreBlock<kKeys, kVectors>(d, k, key, qt, dim, s + key * rows);
  }
  ScoreTail<kKeys - 1, kVectors>(d, k, key, keys - key, qt, dim, s + key * rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_SCORES_INL_H_
