// Random numbers and arrays for tests: any strides, broadcast, either integer type.
#ifndef SKIPATTN_TESTS_RANDOM_ARRAY_H_
#define SKIPATTN_TESTS_RANDOM_ARRAY_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

#include "skipattn/tensor.h"
#include "tests/rng.h"

namespace skipattn::test {

/// A number in [least, most].
inline int64_t Uniform(Rng& rng, int64_t least, int64_t most) {
  return least + static_cast<int64_t>(rng.Below(static_cast<uint64_t>(most - least) + 1));
}

/// True once in `n` times.
inline bool OneIn(Rng& rng, int64_t n) { return Uniform(rng, 1, n) == 1; }

inline int64_t PickOf(Rng& rng, std::initializer_list<int64_t> numbers) {
  return numbers.begin()[Uniform(rng, 0, static_cast<int64_t>(numbers.size()) - 1)];
}

/// A size from `least` to `most`, often next to a vector, a word of bits or a chunk.
inline int64_t RandomSize(Rng& rng, int64_t least, int64_t most) {
  const int64_t edge = PickOf(rng, {1, 2, 4, 8, 16, 24, 32, 64, 128, 192, 256});
  const int64_t size = OneIn(rng, 2) ? edge + Uniform(rng, -1, 1) : Uniform(rng, least, most);
  return size < least || size > most ? Uniform(rng, least, most) : size;
}

/// An array that owns its elements, of which `view` is a view with any strides. `T` is int64_t for
/// integers (the view may be i32) and bool for bools (whose bytes are 0 or anything else).
template <typename T>
class RandomArray {
 public:
  /// Elements are false or 0 until they are set. `aliases`: strides may be 0, so that elements of
  /// the view are one and the same.
  RandomArray(Rng& rng, const std::vector<int64_t>& shape, bool aliases) {
    view.rank = static_cast<int>(shape.size());
    view.dtype = kBool ? DType::kBool : OneIn(rng, 2) ? DType::kI32 : DType::kI64;
    int64_t first = 0;
    const int64_t size = ChooseStrides(rng, shape, aliases, first);
    const size_t bytes = DTypeBytes();
    elements_ = std::make_shared<std::vector<unsigned char>>(static_cast<size_t>(size) * bytes);
    view.data = elements_->data() + static_cast<size_t>(first) * bytes;
  }

  T At(std::initializer_list<int64_t> index) const {
    const unsigned char* at = Place(index);
    if constexpr (kBool) {
      return *at != 0;
    } else if (view.dtype == DType::kI32) {
      return *reinterpret_cast<const int32_t*>(at);
    } else {
      return *reinterpret_cast<const int64_t*>(at);
    }
  }

  void Set(Rng& rng, std::initializer_list<int64_t> index, T value) {
    unsigned char* at = Place(index);
    if constexpr (kBool) {
      *at = static_cast<unsigned char>(value ? PickOf(rng, {1, 1, 2, 128, 255}) : 0);
    } else if (view.dtype == DType::kI32) {
      *reinterpret_cast<int32_t*>(at) = static_cast<int32_t>(value);
    } else {
      *reinterpret_cast<int64_t*>(at) = value;
    }
  }

  ConstTensor view;

 private:
  static constexpr bool kBool = std::is_same_v<T, bool>;

  size_t DTypeBytes() const { return kBool ? 1 : view.dtype == DType::kI32 ? 4 : 8; }

  int64_t ChooseStrides(Rng& rng, const std::vector<int64_t>& shape, bool aliases, int64_t& first) {
    std::vector<size_t> order(shape.size());  // of the axes, the outermost first
    std::iota(order.begin(), order.end(), size_t{0});
    const bool plain = OneIn(rng, 2);
    for (size_t n = order.size(); !plain && n > 1; --n)
      std::swap(order[n - 1], order[rng.Below(n)]);
    int64_t step = 1;
    for (size_t n = order.size(); n-- > 0;) {
      const size_t axis = order[n];
      view.shape[axis] = shape[axis];
      if (!plain && aliases && OneIn(rng, 8)) continue;  // stride 0
      view.stride[axis] = step * (!plain && OneIn(rng, 4) ? 2 : 1);
      step = view.stride[axis] * std::max<int64_t>(shape[axis], 1);
      if (!plain && OneIn(rng, 4)) {
        first += view.stride[axis] * std::max<int64_t>(shape[axis] - 1, 0);
        view.stride[axis] = -view.stride[axis];
      }
    }
    return step;
  }

  unsigned char* Place(std::initializer_list<int64_t> index) const {
    int64_t at = 0;
    int axis = 0;
    for (const int64_t i : index) at += i * view.stride[axis++];
    const auto* data = static_cast<const unsigned char*>(view.data);
    const ptrdiff_t first = data - elements_->data();
    return elements_->data() + first + at * static_cast<int64_t>(DTypeBytes());
  }

  std::shared_ptr<std::vector<unsigned char>> elements_;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RANDOM_ARRAY_H_
