// Query rows to columns: qt[d][row] = q[row][d] * c.

#if defined(SKIPATTN_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SKIPATTN_KERNELS_TRANSPOSE_INL_H_
#undef SKIPATTN_KERNELS_TRANSPOSE_INL_H_
#else
#define SKIPATTN_KERNELS_TRANSPOSE_INL_H_
#endif

#include <algorithm>
#include <cstddef>

#include "hwy/highway.h"
#include "kernels/tile.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Four rows at a time, in blocks of 4 x 4 of 128-bit vectors, which every target has. `rows` is a
// multiple of 4; rows beyond the live ones repeat the last one and are never read as results.
inline void TransposeQueries(const TileArgs& tile, size_t rows, float* HWY_RESTRICT qt) {
  const hn::FixedTag<float, 4> d;
  using V = hn::Vec<decltype(d)>;
  const V scale = hn::Set(d, tile.q_scale);
  for (size_t r = 0; r < rows; r += 4) {
    const float* HWY_RESTRICT q0 = tile.q[std::min(r, tile.rows - 1)];
    const float* HWY_RESTRICT q1 = tile.q[std::min(r + 1, tile.rows - 1)];
    const float* HWY_RESTRICT q2 = tile.q[std::min(r + 2, tile.rows - 1)];
    const float* HWY_RESTRICT q3 = tile.q[std::min(r + 3, tile.rows - 1)];
    float* HWY_RESTRICT to = qt + r;
    size_t i = 0;
    for (; i + 4 <= tile.dim; i += 4, to += 4 * rows) {
      const V a = hn::Mul(hn::LoadU(d, q0 + i), scale), b = hn::Mul(hn::LoadU(d, q1 + i), scale);
      const V c = hn::Mul(hn::LoadU(d, q2 + i), scale), e = hn::Mul(hn::LoadU(d, q3 + i), scale);
      const V ac_low = hn::InterleaveLower(d, a, c), ac_high = hn::InterleaveUpper(d, a, c);
      const V be_low = hn::InterleaveLower(d, b, e), be_high = hn::InterleaveUpper(d, b, e);
      hn::Store(hn::InterleaveLower(d, ac_low, be_low), d, to);
      hn::Store(hn::InterleaveUpper(d, ac_low, be_low), d, to + rows);
      hn::Store(hn::InterleaveLower(d, ac_high, be_high), d, to + 2 * rows);
      hn::Store(hn::InterleaveUpper(d, ac_high, be_high), d, to + 3 * rows);
    }
    for (; i < tile.dim; ++i, to += rows) {
      to[0] = q0[i] * tile.q_scale;
      to[1] = q1[i] * tile.q_scale;
      to[2] = q2[i] * tile.q_scale;
      to[3] = q3[i] * tile.q_scale;
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#endif  // SKIPATTN_KERNELS_TRANSPOSE_INL_H_
