// Copies slopes and tables; see bias_values.h.
#include "runtime/bias_values.h"

#include <algorithm>

#include "plan/term_runs.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
BiasValues::BiasValues(const Problem& problem, const Bias& bias) : kind(KindOf(bias)) {
  if (kind == BiasKind::kNone || kind == BiasKind::kDense) return;
  const BiasTerm& term = *bias.term();
  const ConstTensor& given = term.values;
  for (int64_t b = 0; b < problem.batch; ++b) {
    offset.push_back(OffsetOf(problem, term.diagonal, b));
  }
  for (int64_t h = 0; h < problem.heads; ++h) {
    const float* first = static_cast<const float*>(given.data) + h * given.stride[0];
    if (kind == BiasKind::kAlibi) {
      values.push_back(-*first);
      continue;
    }
    table_size = given.shape[1];
    for (int64_t n = -kChunk; n < table_size + kChunk; ++n) {
      values.push_back(first[std::clamp<int64_t>(n, 0, table_size - 1) * given.stride[1]]);
    }
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
