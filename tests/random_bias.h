// A random bias of any kind, at any strides, with hostile values.
#ifndef SKIPATTN_TESTS_RANDOM_BIAS_H_
#define SKIPATTN_TESTS_RANDOM_BIAS_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/random_array.h"

namespace skipattn::test {

/// Owns its arrays. `view` is given where it is dense: what RunArgs::bias is then.
class RandomBias {
 public:
  RandomBias(Rng& rng, const Problem& problem) {
    const int64_t kind = Uniform(rng, 0, 5);
    text = "no bias";
    if (kind < 2) MakePerHead(rng, problem, kind == 1);
    if (kind == 2 || kind == 3) MakeDense(rng, problem);
  }
  RandomBias(const RandomBias&) = delete;
  RandomBias& operator=(const RandomBias&) = delete;

  /// Writes to the elements that `masked(b, h, i, j)` holds for, wherever they stand, but for those
  /// that mask: which keys those leave decides the grid even where a diagonal hides them.
  template <class Masked>
  void Spoil(Rng& rng, const Problem& p, const Masked& masked) {
    if (!view.given()) return;
    std::vector<bool> live(values_.size());
    const auto for_each = [&](const auto& use) {
      for (int64_t b = 0; b < p.batch; ++b) {
        for (int64_t h = 0; h < p.heads; ++h) {
          for (int64_t i = 0; i < p.q_len; ++i) {
            for (int64_t j = 0; j < p.k_len; ++j) use(PlaceOf(b, h, i, j), masked(b, h, i, j));
          }
        }
      }
    };
    for_each([&](size_t place, bool is_masked) {
      if (!is_masked) live[place] = true;
    });
    for_each([&](size_t place, bool) {
      if (live[place] || values_[place] <= -1e30f) return;
      const float hostile[] = {NAN, INFINITY, 1e30f, 3e38f};
      values_[place] = hostile[rng.Below(4)];
    });
  }

  /// Moderate numbers only, so that the bound of the error is of use.
  bool tame() const { return hostility_ == 0; }

  Bias bias;
  ConstTensor view;
  std::string text;

 private:
  static constexpr float kLowest = std::numeric_limits<float>::lowest();

  /// A number of a bias whose kind of hostility has been drawn.
  float Draw(Rng& rng) const {
    const float plain = static_cast<float>(Uniform(rng, -4000, 4000)) / 1e3f;
    if (hostility_ == 1 && OneIn(rng, 3)) return -INFINITY;
    if (hostility_ == 2 && OneIn(rng, 2)) return OneIn(rng, 2) ? kLowest : -1e30f;
    if (hostility_ == 3 && OneIn(rng, 40)) {
      const float hostile[] = {NAN, INFINITY, -INFINITY, kLowest, -kLowest, -1e30f, 1e30f, -0.0f};
      return hostile[rng.Below(8)];
    }
    if (hostility_ == 4) return OneIn(rng, 2) ? 0.0f : -INFINITY;
    return plain;
  }

  mask::Diagonal DrawDiagonal(Rng& rng, const Problem& p) {
    if (OneIn(rng, 3)) return mask::Align::kBottomRight;
    if (OneIn(rng, 2)) {
      const int64_t far = int64_t{1} << 62;
      return OneIn(rng, 8) ? (OneIn(rng, 2) ? far : -far) : Uniform(rng, -200, 200);
    }
    for (int64_t b = 0; b < p.batch; ++b) offsets_.push_back(Uniform(rng, -90, 90));
    return offsets_;
  }

  void MakePerHead(Rng& rng, const Problem& p, bool table) {
    const int64_t size = table ? PickOf(rng, {1, 2, 5, 32, 129, 300}) : 1;
    hostility_ = table ? Uniform(rng, 0, 4) : 0;
    const int64_t step = OneIn(rng, 2) ? 1 : 2;
    values_.resize(static_cast<size_t>(p.heads * size * step));
    for (float& value : values_) value = Draw(rng) * (table ? 1.0f : 0.1f);
    if (!table && OneIn(rng, 8)) {
      values_[0] = 1e30f;
      hostility_ = 5;
    }
    ConstTensor array(values_.data(), DType::kF32, {p.heads, size});
    array.stride[0] *= step;
    array.stride[1] = step;
    const mask::Diagonal diagonal = DrawDiagonal(rng, p);
    if (!table) array.rank = 1;
    bias = table ? bias::Relative(array, diagonal) : bias::Alibi(array, diagonal);
    text = table ? "relative " + std::to_string(size) : "alibi";
  }

  void MakeDense(Rng& rng, const Problem& p) {
    hostility_ = Uniform(rng, 0, 4);
    const int64_t sizes[] = {p.batch, p.heads, p.q_len, p.k_len};
    view.rank = 4;
    view.dtype = DType::kF32;
    std::vector<int> order = {0, 1, 2, 3};
    if (OneIn(rng, 3)) std::swap(order[2], order[3]);
    if (OneIn(rng, 3)) std::swap(order[0], order[1]);
    int64_t step = OneIn(rng, 5) ? 2 : 1, first = 0;
    text = "dense ";
    for (int n = 3; n >= 0; --n) {
      const int axis = order[static_cast<size_t>(n)];
      const bool one = OneIn(rng, 4);
      view.shape[axis] = one && OneIn(rng, 2) ? 1 : sizes[axis];
      if (one) continue;  // stride 0 or an axis of 1
      text += "bhqk"[axis];
      view.stride[axis] = step;
      step *= std::max<int64_t>(sizes[axis], 1);
      if (OneIn(rng, 6)) {
        first += view.stride[axis] * std::max<int64_t>(sizes[axis] - 1, 0);
        view.stride[axis] = -view.stride[axis];
      }
    }
    values_.resize(static_cast<size_t>(step));
    for (float& value : values_) value = Draw(rng);
    first_ = first;
    view.data = values_.data() + first;
    bias = bias::Dense(view);
    text += " " + std::to_string(hostility_);
  }

  size_t PlaceOf(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t index[] = {b, h, i, j};
    int64_t at = first_;
    for (int axis = 0; axis < 4; ++axis) {
      if (view.shape[axis] > 1) at += index[axis] * view.stride[axis];
    }
    return static_cast<size_t>(at);
  }

  std::vector<float> values_;
  std::vector<int64_t> offsets_;
  int64_t first_ = 0, hostility_ = 0;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RANDOM_BIAS_H_
