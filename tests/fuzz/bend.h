// Views of a tensor that are not the plain ones: backwards, repeated, with strides that mean
// nothing.
#ifndef SKIPATTN_TESTS_FUZZ_BEND_H_
#define SKIPATTN_TESTS_FUZZ_BEND_H_

#include <algorithm>
#include <cstdint>
#include <limits>

#include "skipattn/tensor.h"
#include "tests/random_array.h"

namespace skipattn::test {

/// One way of bending all views of one shape. All but the last axis may run backwards, and, where
/// `repeats`, show one index all along; strides that lead nowhere may be anything.
class Bend {
 public:
  Bend() = default;
  Bend(Rng& rng, const ConstTensor& plain, bool repeats) {
    const bool empty = std::count(plain.shape, plain.shape + plain.rank, 0) > 0;
    for (int axis = 0; axis < plain.rank; ++axis) {
      const bool last = axis == 3;
      if (plain.shape[axis] == 1 || (empty && !last)) {
        if (!OneIn(rng, 4)) continue;
        kinds_[axis] = Kind::kStray;
        stray_[axis] = PickOf(rng, {0, -1, 7, std::numeric_limits<int64_t>::max(),
                                    std::numeric_limits<int64_t>::min()});
      } else if (!empty && !last && OneIn(rng, 6)) {
        kinds_[axis] = repeats && OneIn(rng, 2) ? Kind::kRepeated : Kind::kBackwards;
      }
    }
  }

  Tensor Of(Tensor view) const {
    for (int axis = 0; axis < view.rank; ++axis) {
      int64_t& stride = view.stride[axis];
      switch (kinds_[axis]) {
        case Kind::kPlain:
          break;
        case Kind::kBackwards:
          view.data = static_cast<float*>(view.data) + (view.shape[axis] - 1) * stride;
          stride = -stride;
          break;
        case Kind::kRepeated:
          stride = 0;
          break;
        case Kind::kStray:
          stride = stray_[axis];
          break;
      }
    }
    return view;
  }

 private:
  enum class Kind { kPlain, kBackwards, kRepeated, kStray };
  Kind kinds_[Tensor::kMaxRank] = {};
  int64_t stray_[Tensor::kMaxRank] = {};
};

/// Row (b, h, t) of a view of floats.
inline float* RowOf(const Tensor& view, int64_t b, int64_t h, int64_t t) {
  return static_cast<float*>(view.data) + b * view.stride[0] + h * view.stride[1] +
         t * view.stride[2];
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_FUZZ_BEND_H_
