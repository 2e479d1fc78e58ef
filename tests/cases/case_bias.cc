// The definitions of the biases, written down a second time; see case_bias.h.
#include "tests/cases/case_bias.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

namespace skipattn::cases {
namespace {

double DenseNumber(const CaseMask& bias, const Shape& at) {
  const Shape stride = StridesOf(bias.first.shape);
  const std::string axes = bias.axes.empty() ? "bhqk" : bias.axes;
  int64_t place = 0;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (bias.first.shape[axis] > 1) {
      place += at[std::string("bhqk").find(axes[axis])] * stride[axis];
    }
  }
  return bias.first.values.at(static_cast<size_t>(place));
}

double Number(const CaseMask& bias, const Sizes& sizes, const Shape& at) {
  if (bias.name.empty()) return 0;
  if (bias.name == "dense") return DenseNumber(bias, at);
  int64_t offset = bias.align == mask::Align::kBottomRight ? sizes.k_len - sizes.q_len : 0;
  if (bias.offset) {
    const size_t entry = bias.offset->shape.empty() ? 0 : static_cast<size_t>(at[0]);
    offset = static_cast<int64_t>(bias.offset->values.at(entry));
  }
  const int64_t distance = at[3] - at[2] - offset;
  const auto head = static_cast<size_t>(at[1]);
  if (bias.name == "alibi") {
    return -static_cast<float>(bias.first.values.at(head)) * static_cast<float>(std::abs(distance));
  }
  const int64_t size = bias.first.shape.at(1);
  const int64_t place = std::clamp<int64_t>(distance + size / 2, 0, size - 1);
  return bias.first.values.at(head * static_cast<size_t>(size) + static_cast<size_t>(place));
}

}  // namespace

Array BiasOfPairs(const CaseMask& bias, const Sizes& sizes) {
  Array numbers{sizes.Pairs(), {}};
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.heads; ++h) {
      for (int64_t i = 0; i < sizes.q_len; ++i) {
        for (int64_t j = 0; j < sizes.k_len; ++j) {
          numbers.values.push_back(Number(bias, sizes, {b, h, i, j}));
        }
      }
    }
  }
  return numbers;
}

Array AttendedPairs(const Array& allowed, const Array& bias) {
  Array attended = allowed;
  const auto k_len = static_cast<size_t>(allowed.shape[3]);
  for (size_t row = 0; row + k_len <= allowed.values.size() && k_len > 0; row += k_len) {
    const auto keeps = [&](size_t n, double low) {
      return allowed.values[n] != 0 && !(bias.values[n] <= low);
    };
    bool others = false;
    for (size_t n = row; n < row + k_len; ++n) others = others || keeps(n, -1e30f);
    for (size_t n = row; n < row + k_len; ++n) {
      attended.values[n] = keeps(n, others ? -1e30f : -INFINITY);
    }
  }
  return attended;
}

CaseMask DenseBias(Array numbers) {
  CaseMask bias = DenseMask(std::move(numbers));
  return bias;
}

}  // namespace skipattn::cases
