// What a Bias holds, as it was given.
#ifndef SKIPATTN_PLAN_BIAS_TERM_H_
#define SKIPATTN_PLAN_BIAS_TERM_H_

#include <cstdint>
#include <string>

#include "skipattn/bias.h"
#include "skipattn/plan.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

enum class BiasKind : uint8_t { kNone, kDense, kAlibi, kRelative };

struct BiasTerm {
  BiasKind kind;
  ConstTensor values;  // the elements, [heads] slopes, or the [heads, R] table
  std::string axes;    // of a dense one
  mask::Diagonal diagonal;
};

inline BiasKind KindOf(const Bias& bias) {
  return bias.term() == nullptr ? BiasKind::kNone : bias.term()->kind;
}

/// The problem where a dense bias that it was planned with is the runs' to bring.
inline Problem WithBias(Problem problem, const Bias& bias) {
  problem.bias = problem.bias || KindOf(bias) == BiasKind::kDense;
  return problem;
}

/// A bias as people write it; "" where there is none.
std::string BiasText(const Bias& bias);

/// Whether a bias fits the problem; after it the arrays can be read without a check. The message
/// names the argument, what it was and what it should be.
Status CheckBias(const Problem& problem, const Bias& bias);

/// Whether an array of these four axes broadcasts to [batch, heads, q_len, k_len].
Status CheckBiasView(const Problem& problem, const ConstTensor& view);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_BIAS_TERM_H_
