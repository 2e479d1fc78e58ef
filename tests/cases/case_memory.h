// Arrays of cases in memory, at any strides, and views of them for the library.
#ifndef SKIPATTN_TESTS_CASES_CASE_MEMORY_H_
#define SKIPATTN_TESTS_CASES_CASE_MEMORY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "skipattn/tensor.h"
#include "tests/cases/case_data.h"

namespace skipattn::cases {

/// Where the elements of an array are in its memory.
struct Placement {
  Shape shape, stride;
  int64_t start = 0;  ///< place of the element whose indices are all 0
};

/// Elements of memory up to the last one that the array has.
inline size_t RoomFor(const Placement& place) {
  if (CountOf(place.shape) == 0) return 0;
  int64_t last = place.start;
  for (size_t axis = 0; axis < place.shape.size(); ++axis) {
    last += std::max<int64_t>((place.shape[axis] - 1) * place.stride[axis], 0);
  }
  return static_cast<size_t>(last) + 1;
}

/// Calls f(n, element) for the elements of an array in C order.
template <typename T, typename F>
void ForEachPlace(const Placement& place, std::vector<T>* memory, F f) {
  ForEachElement(place.shape, place.stride, [&](int64_t n, int64_t at) {
    f(static_cast<size_t>(n), &memory->at(static_cast<size_t>(place.start + at)));
  });
}

template <typename T>
void Write(const Array& array, const Placement& place, std::vector<T>* memory) {
  ForEachPlace(place, memory,
               [&](size_t n, T* element) { *element = static_cast<T>(array.values[n]); });
}

/// `View` is Tensor or ConstTensor.
template <typename View, typename T>
View ViewOf(std::vector<T>* memory, DType dtype, const Placement& place) {
  View view;
  view.data = memory->data() + place.start;
  view.dtype = dtype;
  view.rank = static_cast<int>(place.shape.size());
  for (size_t axis = 0; axis < place.shape.size(); ++axis) {
    view.shape[axis] = place.shape[axis];
    view.stride[axis] = place.stride[axis];
  }
  return view;
}

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_MEMORY_H_
