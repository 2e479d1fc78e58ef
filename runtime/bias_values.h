// The bias of a plan: what of it the plan owns, and where a row finds its values.
#ifndef SKIPATTN_RUNTIME_BIAS_VALUES_H_
#define SKIPATTN_RUNTIME_BIAS_VALUES_H_

#include <cstdint>
#include <vector>

#include "plan/bias_term.h"
#include "plan/segment.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A checked bias, with slopes and tables copied. `offset`: of each batch entry.
///
/// A table is kept with kChunk more of its first and of its last value on either side, so that the
/// values of a chunk of keys are consecutive elements wherever the chunk is.
struct BiasValues {
  BiasKind kind = BiasKind::kNone;
  std::vector<float> values;  // kAlibi: the slopes with their sign changed; kRelative: the tables
  int64_t table_size = 0;     // R
  std::vector<int64_t> offset;

  BiasValues() = default;
  BiasValues(const Problem& problem, const Bias& bias);

  const float* TableOf(int64_t head) const {
    return values.data() + head * (table_size + 2 * kChunk);
  }
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_BIAS_VALUES_H_
