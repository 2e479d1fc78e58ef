// Where the rows of k or v are: equally spaced, or each by its own pointer.
#ifndef SKIPATTN_KERNELS_ROWS_H_
#define SKIPATTN_KERNELS_ROWS_H_

#include <cstddef>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

struct StridedRows {
  const float* base;
  ptrdiff_t stride;
  const float* operator[](size_t n) const { return base + static_cast<ptrdiff_t>(n) * stride; }

  /// Four rows that are walked through together; one pointer for all of them.
  struct Four {
    const float* first;
    ptrdiff_t stride;
    const float* operator[](int n) const { return first + n * stride; }
    void Advance(size_t floats) { first += floats; }
  };
  Four FourFrom(size_t n) const { return {(*this)[n], stride}; }
};

struct PointerRows {
  const float* const* rows;
  const float* operator[](size_t n) const { return rows[n]; }

  struct Four {
    const float* const* rows;
    size_t at;
    const float* operator[](int n) const { return rows[n] + at; }
    void Advance(size_t floats) { at += floats; }
  };
  Four FourFrom(size_t n) const { return {rows + n, 0}; }
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_ROWS_H_
