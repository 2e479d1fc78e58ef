// Micro-kernel "weighted sum": o[row][col] = fold(o, sum over keys of p[key][row] * v[key][col]),
// value columns in lanes.

#if defined(SKIPATTN_KERNELS_WEIGHTED_SUM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_WEIGHTED_SUM_INL_H_
#undef SKIPATTN_KERNELS_WEIGHTED_SUM_INL_H_
#else
#define SKIPATTN_KERNELS_WEIGHTED_SUM_INL_H_
#endif

#include <cstddef>

#include "hwy/highway.h"
#include "kernels/key_prefetch.h"
#include "kernels/repeat.h"
#include "kernels/rows.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// The operands of a weighted sum over the keys of one chunk.
template <class Rows>
struct SumArgs {
  Rows v;  // one row of v_dim values per key
  size_t v_dim;
  size_t keys;
  const float* p;  // weights: of row r and key n at p[n * p_stride + r]
  size_t p_stride;
  float* o;           // totals: row r at o + r * o_stride
  size_t o_stride;    // a multiple of the vector length, >= v_dim
  const float* keep;  // [rows]: factor of what o holds
  const float* add;   // [rows]: factor of what this chunk adds
  bool first;         // o holds nothing yet: it is written, not read
};

// kRows x kVectors accumulators, one fma chain over the keys each, from +0, then the fold. With
// kTail the last vector has only the columns up to v_dim.
template <int kRows, int kVectors, bool kTail, class D, class Rows>
HWY_INLINE void SumBlock(D d, const SumArgs<Rows>& args, size_t row, size_t column) {
  static_assert(kRows <= 8 && kVectors <= 4, "no more names");
  using V = hn::Vec<D>;
  const size_t lanes = hn::Lanes(d);
  [[maybe_unused]] const size_t tail = args.v_dim % lanes;

#define SKIPATTN_DECLARE(m) \
  [[maybe_unused]] V c##m##0 = hn::Zero(d), c##m##1 = c##m##0, c##m##2 = c##m##0, c##m##3 = c##m##0;
  SKIPATTN_REPEAT_8(SKIPATTN_DECLARE);
#undef SKIPATTN_DECLARE

#define SKIPATTN_LOAD(n)                      \
  if constexpr (kTail && n == kVectors - 1) { \
    b##n = hn::LoadN(d, v + n * lanes, tail); \
  } else if constexpr (n < kVectors) {        \
    b##n = hn::LoadU(d, v + n * lanes);       \
  }
#define SKIPATTN_STEP(m)                                              \
  if constexpr (m < kRows) {                                          \
    const V a = hn::Set(d, p[m]);                                     \
    c##m##0 = hn::MulAdd(a, b0, c##m##0);                             \
    if constexpr (kVectors > 1) c##m##1 = hn::MulAdd(a, b1, c##m##1); \
    if constexpr (kVectors > 2) c##m##2 = hn::MulAdd(a, b2, c##m##2); \
    if constexpr (kVectors > 3) c##m##3 = hn::MulAdd(a, b3, c##m##3); \
  }
  const float* HWY_RESTRICT p = args.p + row;
  const size_t p_stride = args.p_stride;
  const Rows v_rows = args.v;
  const size_t keys = args.keys;
  [[maybe_unused]] AheadWalk<Rows> ahead(args.v, keys * column);
  for (size_t key = 0; key < keys; ++key) {
    const float* HWY_RESTRICT v = v_rows[key] + column;
    if (row == 0) ahead.Step(kVectors * lanes);
    [[maybe_unused]] V b0 = hn::Undefined(d), b1 = b0, b2 = b0, b3 = b0;
    SKIPATTN_REPEAT_4(SKIPATTN_LOAD);
    SKIPATTN_REPEAT_8(SKIPATTN_STEP);
    p += p_stride;
  }
#undef SKIPATTN_STEP
#undef SKIPATTN_LOAD

  const bool first = args.first;
#define SKIPATTN_FOLD(n, c)                                              \
  if constexpr (n < kVectors) {                                          \
    V sum = hn::Mul(c, add);                                             \
    if (!first) sum = hn::MulAdd(hn::Load(d, o + n * lanes), keep, sum); \
    hn::Store(sum, d, o + n * lanes);                                    \
  }
#define SKIPATTN_FOLD_ROW(m)                                             \
  if constexpr (m < kRows) {                                             \
    float* HWY_RESTRICT o = args.o + (row + m) * args.o_stride + column; \
    const V keep = hn::Set(d, args.keep[row + m]);                       \
    const V add = hn::Set(d, args.add[row + m]);                         \
    SKIPATTN_FOLD(0, c##m##0)                                            \
    SKIPATTN_FOLD(1, c##m##1)                                            \
    SKIPATTN_FOLD(2, c##m##2)                                            \
    SKIPATTN_FOLD(3, c##m##3)                                            \
  }
  SKIPATTN_REPEAT_8(SKIPATTN_FOLD_ROW);
#undef SKIPATTN_FOLD_ROW
#undef SKIPATTN_FOLD
}

// The last rows % kRows rows of a column group, by a block of just that size.
template <int kRows, int kVectors, bool kTail, class D, class Rows>
HWY_INLINE void SumRowTail(D d, const SumArgs<Rows>& args, size_t row, size_t count,
                           size_t column) {
  if constexpr (kRows > 0) {
    if (count == kRows) {
      SumBlock<kRows, kVectors, kTail>(d, args, row, column);
    } else {
      SumRowTail<kRows - 1, kVectors, kTail>(d, args, row, count, column);
    }
  }
}

// All rows of a group of kVectors value columns.
template <int kRows, int kVectors, bool kTail, class D, class Rows>
HWY_NOINLINE void SumColumns(D d, const SumArgs<Rows>& args, size_t rows, size_t column) {
  size_t row = 0;
  for (; row + kRows <= rows; row += kRows) {
    SumBlock<kRows, kVectors, kTail>(d, args, row, column);
  }
  SumRowTail<kRows - 1, kVectors, kTail>(d, args, row, rows - row, column);
}

// The last group of columns: `vectors` vectors, the last one of them partly filled or not.
template <int kRows, int kVectors, class D, class Rows>
HWY_INLINE void SumLastColumns(D d, const SumArgs<Rows>& args, size_t rows, size_t column,
                               size_t vectors) {
  if constexpr (kVectors > 0) {
    if (vectors != kVectors) {
      SumLastColumns<kRows, kVectors - 1>(d, args, rows, column, vectors);
    } else if (args.v_dim % hn::Lanes(d) != 0) {
      SumColumns<kRows, kVectors, true>(d, args, rows, column);
    } else {
      SumColumns<kRows, kVectors, false>(d, args, rows, column);
    }
  }
}

// Adds one chunk to the totals of `rows` rows. Columns outermost: the panel of v that all row
// groups read, keys x kVectors vectors, stays in L1.
template <int kRows, int kVectors, class D, class Rows>
HWY_INLINE void WeightedSum(D d, const SumArgs<Rows>& args, size_t rows) {
  const size_t group = kVectors * hn::Lanes(d);
  size_t column = 0;
  for (; column + group < args.v_dim; column += group) {
    SumColumns<kRows, kVectors, false>(d, args, rows, column);
  }
  const size_t vectors = hwy::DivCeil(args.v_dim - column, hn::Lanes(d));
  SumLastColumns<kRows, kVectors>(d, args, rows, column, vectors);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_WEIGHTED_SUM_INL_H_
