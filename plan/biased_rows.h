// Rows of a mask and a bias: what the bias masks is left out of the rows.
#ifndef SKIPATTN_PLAN_BIASED_ROWS_H_
#define SKIPATTN_PLAN_BIASED_ROWS_H_

#include <cstdint>
#include <memory>
#include <optional>

#include "kernels/scan_bits.h"
#include "plan/bias_term.h"
#include "plan/rows.h"
#include "skipattn/options.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A RowCompiler that knows of a bias. A bias that masks nothing costs one look at it and changes
/// nothing.
class BiasedRows {
 public:
  BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
             const AttentionOptions& options, ScanFunction scan);

  bool per_batch() const { return not_soft_.per_batch(); }
  bool per_head() const { return not_soft_.per_head(); }

  PlaneRows Compile(int64_t b, int64_t h);

  /// Whether a dense bias is 0 or masks for every number that was looked at for the rows compiled
  /// so far.
  bool bias_adds_nothing() const;

  /// Whether there are numbers that are large and negative, and yet mask nothing: -1e9, -1e4.
  bool bias_looks_masking() const;

 private:
  BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
             const AttentionOptions& options, ScanFunction scan, std::shared_ptr<uint32_t> found);
  BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
             const AttentionOptions& options, ScanFunction scan, std::shared_ptr<uint32_t> found,
             bool may_mask);

  bool HasSoft(int64_t b, int64_t h, const Runs& queries) const;

  const Problem problem_;
  const ScanFunction scan_;
  const std::shared_ptr<uint32_t> found_;  // what the numbers of a dense bias are, so far
  ConstTensor dense_;     // four axes; not given where no dense bias masks anything
  RowCompiler not_soft_;  // with keys whose bias is neither soft nor -inf
  std::optional<RowCompiler> not_masked_;  // with keys whose bias is not -inf
  bool has_soft_rows_ = false;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_BIASED_ROWS_H_
