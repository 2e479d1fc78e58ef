// The definition as plain loops: what every kernel is compared with.
#ifndef SKIPATTN_REFERENCE_H_
#define SKIPATTN_REFERENCE_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "skipattn/bias.h"
#include "skipattn/mask.h"
#include "skipattn/options.h"
#include "skipattn/plan.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {

/// One query row in float64.
struct Float64Row {
  std::vector<double> out;  ///< [v_dim]; 0 for an empty row that is kept
  double lse = 0;
  double out_bound = 0;  ///< what the exact arithmetic may differ from `out` at most
  double lse_bound = 0;
};

/// Evaluates single rows, straight from the mask's predicate. Owns all that it needs, is immutable
/// and may be shared between threads. Planning is O(B * heads * Tq * Tk): for tests and checks.
class SKIPATTN_API Reference {
 public:
  static Result<Reference> Make(const Problem& problem, const Mask& mask,
                                const AttentionOptions& options = {});

  /// The same with a bias; see MakePlan.
  static Result<Reference> Make(const Problem& problem, const Mask& mask, const Bias& bias,
                                const AttentionOptions& options);

  /// Whether query i of head h attends key j: what the plan knows of it.
  bool Allows(int64_t b, int64_t h, int64_t i, int64_t j) const;

  /// The exact arithmetic for query row (b, h, i): `out` [v_dim] and `lse` (may be null) are
  /// written, but for the `out` of an empty row that is kept. Reads the inputs of `args` only.
  Status ExactRow(const RunArgs& args, int64_t b, int64_t h, int64_t i, float* out,
                  float* lse) const;

  /// The state {M, l, o} that a run with carry_out leaves for the row, o being [v_dim].
  Status ExactState(const RunArgs& args, int64_t b, int64_t h, int64_t i, float* max, float* sum,
                    float* out) const;

  /// The operation in float64 over keys that are all there (no carry), with the error bounds of the
  /// exact arithmetic.
  Result<Float64Row> Row64(const RunArgs& args, int64_t b, int64_t h, int64_t i) const;

  struct Impl;
  explicit Reference(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_REFERENCE_H_
