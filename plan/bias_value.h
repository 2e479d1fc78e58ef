// The numbers of a bias that is made of slopes or a table, one by one.
#ifndef SKIPATTN_PLAN_BIAS_VALUE_H_
#define SKIPATTN_PLAN_BIAS_VALUE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>

#include "plan/bias_term.h"
#include "plan/mask_terms.h"
#include "plan/term_runs.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A checked bias that is not dense. It borrows the arrays, so it is for planning only.
class BiasFormula {
 public:
  BiasFormula(const Problem& problem, const Bias& bias) : problem_(problem), term_(*bias.term()) {}

  float At(int64_t b, int64_t h, int64_t i, int64_t j) const {
    const int64_t distance = i + OffsetOf(problem_, term_.diagonal, b) - j;
    const float* values = static_cast<const float*>(term_.values.data) + h * term_.values.stride[0];
    if (term_.kind == BiasKind::kAlibi) {
      return -*values * static_cast<float>(std::abs(distance));
    }
    const int64_t size = term_.values.shape[1];
    return values[std::clamp<int64_t>(size / 2 - distance, 0, size - 1) * term_.values.stride[1]];
  }

  /// Whether any number may be soft or -inf.
  bool MayBeSoft() const {
    float farthest = 0;
    for (int64_t b = 0; b < problem_.batch; ++b) {
      const int64_t offset = std::abs(OffsetOf(problem_, term_.diagonal, b));
      farthest = std::max(farthest, static_cast<float>(offset) +
                                        static_cast<float>(problem_.q_len + problem_.k_len));
    }
    const auto* first = static_cast<const float*>(term_.values.data);
    for (int64_t h = 0; h < problem_.heads; ++h, first += term_.values.stride[0]) {
      if (term_.kind == BiasKind::kAlibi) {
        if (*first * farthest >= -kMostSoft / 2) return true;  // with room for rounding
        continue;
      }
      for (int64_t n = 0; n < term_.values.shape[1]; ++n) {
        if (first[n * term_.values.stride[1]] <= kMostSoft) return true;
      }
    }
    return false;
  }

 private:
  Problem problem_;
  BiasTerm term_;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_BIAS_VALUE_H_
