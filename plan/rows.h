// Mask terms to rows: which keys each query row of a (batch, head) plane attends.
#ifndef SKIPATTN_PLAN_ROWS_H_
#define SKIPATTN_PLAN_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/scan_bits.h"
#include "plan/dense_bits.h"
#include "plan/mask_terms.h"
#include "plan/runs.h"
#include "plan/segment.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// A query row that attends at least one key: those of [lo, hi) that are in `sets[set]` and, unless
/// `bits` is -1, set in that row of the plane's bits. `lo` and `hi - 1` are attended.
struct LiveRow {
  int64_t query;
  int64_t lo, hi;
  int32_t set;
  int64_t bits;
};

/// Rows [begin, end) that share a chunk grid: all of a plane, or those of one document.
struct RowGroup {
  size_t begin, end;
  int64_t origin;  // of the chunk grid, 0 to 127
};

struct PlaneRows {
  std::vector<LiveRow> rows;  // group by group, queries ascending in each
  std::vector<RowGroup> groups;
  std::vector<Runs> sets;
  std::shared_ptr<const BitMatrix> bits;  // null where no row has bits
  Runs empty_rows;                        // queries without a key
};

/// Compiles a checked mask. Interval terms cost O(rows), documents and validity O(rows + keys);
/// only dense arrays are visited element by element, once per distinct plane.
class RowCompiler {
 public:
  /// `key_origin`: as in AttentionOptions.
  RowCompiler(const Problem& problem, const Mask& mask, const std::vector<int64_t>& key_origin,
              ScanFunction scan);

  /// Whether planes differ from batch entry to batch entry, and from head to head.
  bool per_batch() const { return per_batch_; }
  bool per_head() const { return per_head_; }

  PlaneRows Compile(int64_t b, int64_t h);

 private:
  struct Band {
    int64_t below, above;  // i + below <= j <= i + above
  };
  struct PlaneTerms;

  Runs LivePositions(bool keys, int64_t b, int64_t h) const;
  Runs TermRuns(const Term& term, bool keys, int64_t b, int64_t h) const;
  Runs BoolRuns(const uint8_t* data, int64_t stride, int64_t count) const;
  Band BandOf(int64_t b) const;
  bool CompileRow(const PlaneTerms& terms, int64_t& origin, LiveRow& row) const;
  int64_t GridOrigin(int64_t found, int64_t b) const;

  const Problem problem_;
  const std::vector<Term> terms_;
  const std::vector<int64_t> key_origin_;
  const ScanFunction scan_;
  DenseBits dense_bits_;
  bool per_batch_ = false, per_head_ = false;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_ROWS_H_
