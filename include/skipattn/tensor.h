// Borrowed views of arrays: data pointer, element type, shape and strides.
#ifndef SKIPATTN_TENSOR_H_
#define SKIPATTN_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <type_traits>
#include <utility>
#include <vector>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {

enum class DType : uint8_t { kF32, kBF16, kF16, kBool, kI32, kI64 };

/// "f32", "bf16", "f16", "bool", "i32", "i64"; "unknown" for any other value.
SKIPATTN_API const char* DTypeName(DType dtype);

/// Bytes of one element; 0 for an unknown type.
SKIPATTN_API size_t DTypeSize(DType dtype);

namespace internal {
template <typename T>
struct DTypeOf {};
template <>
struct DTypeOf<float> : std::integral_constant<DType, DType::kF32> {};
template <>
struct DTypeOf<bool> : std::integral_constant<DType, DType::kBool> {};
template <>
struct DTypeOf<int32_t> : std::integral_constant<DType, DType::kI32> {};
template <>
struct DTypeOf<int64_t> : std::integral_constant<DType, DType::kI64> {};
}  // namespace internal

/// A view of an array of up to four axes; it owns nothing. `Data` is void or const void.
///
/// `stride` counts elements (not bytes) and may be zero (broadcast) or negative; `data` points at
/// the element whose indices are all 0. Bool elements are bytes, 0 or not 0. A view made by
/// default is "not given" (`rank` 0, no data).
template <typename Data>
struct BasicTensor {
  static constexpr int kMaxRank = 4;

  Data* data = nullptr;
  DType dtype = DType::kF32;
  int rank = 0;
  int64_t shape[kMaxRank] = {};
  int64_t stride[kMaxRank] = {};

  BasicTensor() = default;

  /// A contiguous array in C order.
  template <typename T>
  BasicTensor(T* elements, std::initializer_list<int64_t> sizes)
      : BasicTensor(elements, internal::DTypeOf<std::remove_const_t<T>>::value, sizes) {}

  /// The same with the element type given, for types that C++17 has no name for.
  BasicTensor(Data* elements, DType type, std::initializer_list<int64_t> sizes)
      : data(elements), dtype(type), rank(static_cast<int>(sizes.size())) {
    int axis = 0;
    for (int64_t size : sizes) {
      if (axis < kMaxRank) shape[axis++] = size;
    }
    // Unsigned, so that sizes whose product overflows reach the argument check instead of
    // undefined behaviour here.
    uint64_t step = 1;
    while (--axis >= 0) {
      stride[axis] = static_cast<int64_t>(step);
      step *= static_cast<uint64_t>(shape[axis]);
    }
  }

  /// A vector as an array of one axis. It must outlive the view, hence no temporaries.
  template <typename T, typename = std::enable_if_t<!std::is_same_v<T, bool>>>
  BasicTensor(const std::vector<T>& elements)  // NOLINT: a vector is an array
      : BasicTensor(elements.data(), {static_cast<int64_t>(elements.size())}) {}
  template <typename T>
  BasicTensor(const std::vector<T>&&) = delete;

  /// A writable view is also a readable one.
  template <typename Other, typename = std::enable_if_t<std::is_convertible_v<Other*, Data*>>>
  BasicTensor(const BasicTensor<Other>& other)  // NOLINT: see above
      : data(other.data), dtype(other.dtype), rank(other.rank) {
    for (int axis = 0; axis < kMaxRank; ++axis) {
      shape[axis] = other.shape[axis];
      stride[axis] = other.stride[axis];
    }
  }

  bool given() const { return rank != 0; }

  /// The same elements with two axes exchanged: `Tensor(p, {B, T, H, D}).SwapAxes(1, 2)` is the
  /// {B, H, T, D} view of memory that is laid out {B, T, H, D}.
  BasicTensor SwapAxes(int a, int b) const {
    BasicTensor swapped = *this;
    std::swap(swapped.shape[a], swapped.shape[b]);
    std::swap(swapped.stride[a], swapped.stride[b]);
    return swapped;
  }
};

using Tensor = BasicTensor<void>;
using ConstTensor = BasicTensor<const void>;

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_TENSOR_H_
