// Overlap of strided views; see overlap.h.
#include "runtime/overlap.h"

#include <cstdint>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Sizes are below 2^60 in all, strides any 64 bits: their products need more.
__extension__ using Int128 = __int128;

struct Axis {
  Int128 stride;  // in bytes, > 0 once the footprint is turned
  Int128 span;    // from the first element of the axis to the last
};

// The bytes of a view, turned so that all strides are positive; axes of one element are left out,
// and so are those of stride 0, along which the bytes are the same.
struct Footprint {
  explicit Footprint(const ConstTensor& view)
      : first(reinterpret_cast<uintptr_t>(view.data)),
        element(static_cast<Int128>(DTypeSize(view.dtype))) {
    for (int axis = 0; axis < view.rank; ++axis) {
      empty = empty || view.shape[axis] == 0;
      if (view.shape[axis] < 2 || view.stride[axis] == 0) continue;
      const Int128 stride = element * view.stride[axis];
      const Int128 span = stride * (view.shape[axis] - 1);
      if (stride < 0) first += span;
      axes[rank++] = {stride < 0 ? -stride : stride, span < 0 ? -span : span};
    }
  }

  bool empty = false;
  Int128 first;
  Int128 element;
  int rank = 0;
  Axis axes[ConstTensor::kMaxRank] = {};
};

Int128 Gcd(Int128 a, Int128 b) {
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// More than any stride.
constexpr Int128 kNoLimit = static_cast<Int128>(1) << 100;

// Bytes from the first to the last one that the axes of strides below `limit` reach.
Int128 SpanBelow(const Footprint& footprint, Int128 limit) {
  Int128 span = footprint.element;
  for (int axis = 0; axis < footprint.rank; ++axis) {
    if (footprint.axes[axis].stride < limit) span += footprint.axes[axis].span;
  }
  return span;
}

// The greatest common divisor of `period` and the strides from `limit` up.
Int128 PeriodFrom(const Footprint& footprint, Int128 limit, Int128 period) {
  for (int axis = 0; axis < footprint.rank; ++axis) {
    const Int128 stride = footprint.axes[axis].stride;
    if (stride >= limit) period = Gcd(stride, period);
  }
  return period;
}

// Both views are a block of bytes (the axes of strides below `limit`) that is repeated at steps
// which are multiples of a common period: they are apart where the blocks are apart modulo the
// period. Without a limit the blocks are the extents of the views.
bool ApartAt(Int128 limit, const Footprint& a, const Footprint& b) {
  const Int128 a_span = SpanBelow(a, limit);
  const Int128 b_span = SpanBelow(b, limit);
  const Int128 distance = b.first - a.first;
  const Int128 period = PeriodFrom(b, limit, PeriodFrom(a, limit, 0));
  if (period == 0) return distance >= a_span || -distance >= b_span;
  const Int128 ahead = (distance % period + period) % period;
  return ahead >= a_span && period - ahead >= b_span;
}

}  // namespace

bool MayOverlap(const ConstTensor& a, const ConstTensor& b) {
  const Footprint fa(a), fb(b);
  if (fa.empty || fb.empty || ApartAt(kNoLimit, fa, fb)) return false;
  for (const Footprint* one : {&fa, &fb}) {
    for (int axis = 0; axis < one->rank; ++axis) {
      if (ApartAt(one->axes[axis].stride, fa, fb)) return false;
    }
  }
  return true;
}

bool MayOverlapItself(const ConstTensor& a) {
  const Footprint footprint(a);
  if (footprint.empty) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.shape[axis] > 1 && a.stride[axis] == 0) return true;
  }
  for (int axis = 0; axis < footprint.rank; ++axis) {
    const Axis& one = footprint.axes[axis];
    // Axes of the same stride count as well: their elements coincide.
    if (one.stride < SpanBelow(footprint, one.stride + 1) - one.span) return true;
  }
  return false;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
