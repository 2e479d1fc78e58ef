// Micro-kernel "key scores": the scores of a few query rows with keys in lanes. The same chains
// over d as in scores-inl.h, so the same bits.

#if defined(SKIPATTN_KERNELS_KEY_SCORES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_KEY_SCORES_INL_H_
#undef SKIPATTN_KERNELS_KEY_SCORES_INL_H_
#else
#define SKIPATTN_KERNELS_KEY_SCORES_INL_H_
#endif

#include <algorithm>
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

// A vector of keys: four in each 128-bit block. Two blocks are a load and an insertion from memory;
// four would be three insertions, which cost more than they save.
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
using KeyTag = hn::FixedTag<float, 8>;
#else
using KeyTag = hn::FixedTag<float, 4>;
#endif
using KeyVector = hn::Vec<KeyTag>;
static constexpr size_t kKeyLanes = hn::MaxLanes(KeyTag());

// Rows that scores and queries are stored as, however few they are.
static constexpr int kKeyRows = 4;

// The keys of one vector: four, and where it holds eight four more.
template <class Rows>
struct KeyRowsOf {
  typename Rows::Four low, high;
  KeyRowsOf(const Rows& k, size_t key)
      : low(k.FourFrom(key)), high(k.FourFrom(key + (kKeyLanes == 8 ? 4 : 0))) {}

  HWY_INLINE void Advance(size_t floats) {
    low.Advance(floats);
    if (kKeyLanes == 8) high.Advance(floats);
  }
  // Elements [0, 4) of key n in the first block, of key n + 4 in the second.
  HWY_INLINE KeyVector Load(int n) const {
#if HWY_ARCH_X86 && HWY_MAX_BYTES >= 32
    const hn::Half<KeyTag> half;
    return hn::Combine(KeyTag(), hn::LoadU(half, high[n]), hn::LoadU(half, low[n]));
#else
    return hn::LoadU(KeyTag(), low[n]);
#endif
  }
  // Element 0 of every key.
  HWY_INLINE KeyVector LoadFirst() const {
    HWY_ALIGN float first[kKeyLanes];
    for (int n = 0; n < 4; ++n) {
      first[n] = *low[n];
      if (kKeyLanes == 8) first[4 + n] = *high[n];
    }
    return hn::Load(KeyTag(), first);
  }
};

// Four steps of the chains of kRows rows: 4 x 4 blocks of k are transposed in registers.
template <int kRows, class Keys>
HWY_INLINE void KeyScoreSteps(const Keys& keys, const float* HWY_RESTRICT qt, KeyVector& s0,
                              KeyVector& s1, KeyVector& s2, KeyVector& s3) {
  const KeyTag d;
  using V = KeyVector;
  const V a = keys.Load(0), b = keys.Load(1), c = keys.Load(2), e = keys.Load(3);
  const V ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
  const V be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
  const V k0 = hn::InterleaveLower(d, ac_low, be_low), k1 = hn::InterleaveUpper(d, ac_low, be_low);
  const V k2 = hn::InterleaveLower(d, ac_high, be_high);
  const V k3 = hn::InterleaveUpper(d, ac_high, be_high);
#define SKIPATTN_CHAIN(r)                                          \
  if constexpr (r < kRows) {                                       \
    s##r = hn::MulAdd(k0, hn::Set(d, qt[r]), s##r);                \
    s##r = hn::MulAdd(k1, hn::Set(d, qt[kKeyRows + r]), s##r);     \
    s##r = hn::MulAdd(k2, hn::Set(d, qt[2 * kKeyRows + r]), s##r); \
    s##r = hn::MulAdd(k3, hn::Set(d, qt[3 * kKeyRows + r]), s##r); \
  }
  SKIPATTN_REPEAT_4(SKIPATTN_CHAIN)
#undef SKIPATTN_CHAIN
}

// Scores of kKeyLanes keys, or twice as many with kTwo, so that chains of one wait less for
// themselves. Those of rows from kRows on are 0 or copies: they count for nothing.
template <int kRows, bool kTwo, class Rows>
HWY_INLINE void KeyScoreBlock(const Rows& k, size_t key, const float* HWY_RESTRICT qt, size_t dim,
                              float* HWY_RESTRICT s) {
  const KeyTag d;
  KeyRowsOf<Rows> one(k, key), two(k, key + (kTwo ? kKeyLanes : 0));
  KeyVector a0 = hn::Zero(d), a1 = a0, a2 = a0, a3 = a0, b0 = a0, b1 = a0, b2 = a0, b3 = a0;
  size_t i = 0;
  for (; i + 4 <= dim; i += 4) {
    KeyScoreSteps<kRows>(one, qt, a0, a1, a2, a3);
    if constexpr (kTwo) KeyScoreSteps<kRows>(two, qt, b0, b1, b2, b3);
    one.Advance(4);
    if constexpr (kTwo) two.Advance(4);
    qt += 4 * kKeyRows;
  }
  for (; i < dim; ++i) {
    const KeyVector ka = one.LoadFirst(), kb = kTwo ? two.LoadFirst() : ka;
#define SKIPATTN_STEP(r)                                                \
  if constexpr (r < kRows) {                                            \
    a##r = hn::MulAdd(ka, hn::Set(d, qt[r]), a##r);                     \
    if constexpr (kTwo) b##r = hn::MulAdd(kb, hn::Set(d, qt[r]), b##r); \
  }
    SKIPATTN_REPEAT_4(SKIPATTN_STEP)
#undef SKIPATTN_STEP
    one.Advance(1);
    if constexpr (kTwo) two.Advance(1);
    qt += kKeyRows;
  }
  hn::StoreInterleaved4(a0, a1, a2, a3, d, s);
  if constexpr (kTwo) hn::StoreInterleaved4(b0, b1, b2, b3, d, s + kKeyLanes * kKeyRows);
}

// s[key][4] = sum over d of k[key][d] * qt[d][4] for kRows <= 4 rows and `keys` <= kChunk keys;
// those up to the next multiple of kKeyLanes are written too. `ahead` goes on by a step per two
// vectors.
template <int kRows, class Rows, class Ahead>
HWY_NOINLINE void KeyScores(const Rows& k, size_t keys, const float* HWY_RESTRICT qt, size_t dim,
                            float* HWY_RESTRICT s, Ahead& ahead) {
  size_t key = 0;
  for (; key + 2 * kKeyLanes <= keys; key += 2 * kKeyLanes) {
    ahead.Step();
    KeyScoreBlock<kRows, true>(k, key, qt, dim, s + key * kKeyRows);
  }
  for (; key < keys; key += kKeyLanes) {
    ahead.Step();
    const float* rows[kKeyLanes];  // beyond the last key, it again
    for (size_t n = 0; n < kKeyLanes; ++n) rows[n] = k[std::min(key + n, keys - 1)];
    KeyScoreBlock<kRows, false>(PointerRows{rows}, 0, qt, dim, s + key * kKeyRows);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_KEY_SCORES_INL_H_
