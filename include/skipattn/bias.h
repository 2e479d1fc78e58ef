// Bias: a number added to each score, after the softcap.
#ifndef SKIPATTN_BIAS_H_
#define SKIPATTN_BIAS_H_

#include <memory>
#include <string>
#include <utility>

#include "skipattn/mask.h"
#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {

namespace internal {
struct BiasTerm;
}  // namespace internal

/// One number for each (batch b, head h, query i, key j), or, by default, none. A bias of -inf
/// masks the pair as a Mask does, +inf makes the row NaN.
///
/// A Bias is a small value. It borrows the arrays given to it until MakePlan (or Attention) has
/// returned, where they are checked: slopes and tables then belong to the plan. The values of a
/// dense bias are the runs', which bring them in RunArgs::bias; what MakePlan may take from it is
/// where it masks (AttentionOptions::bias_is_mask).
class SKIPATTN_API Bias {
 public:
  Bias() = default;

  /// For the library itself.
  explicit Bias(std::shared_ptr<const internal::BiasTerm> term) : term_(std::move(term)) {}
  const internal::BiasTerm* term() const { return term_.get(); }

 private:
  std::shared_ptr<const internal::BiasTerm> term_;
};

namespace bias {

/// The element itself. `values`: f32, any strides. `axes` names its axes, a subset of "bhqk" in
/// that order, for example "bk" or "hqk"; it may be left out for rank 4. An axis of size 1
/// broadcasts. `h` counts query heads.
SKIPATTN_API Bias Dense(const ConstTensor& values, const std::string& axes = "");

/// -slopes[h] * |i + offset - j|. `slopes`: f32 [heads]. Offsets are at most 2^62.
SKIPATTN_API Bias Alibi(const ConstTensor& slopes, const mask::Diagonal& diagonal = {});

/// table[h, clamp(j - i - offset + R / 2, 0, R - 1)], R / 2 rounded down. `table`: f32 [heads, R].
SKIPATTN_API Bias Relative(const ConstTensor& table, const mask::Diagonal& diagonal = {});

/// The same elements with all four axes "bhqk", as RunArgs::bias wants them: those that `axes` does
/// not name have size 1. `values` itself where its rank and `axes` do not fit.
SKIPATTN_API ConstTensor FourAxes(const ConstTensor& values, const std::string& axes);

}  // namespace bias
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_BIAS_H_
