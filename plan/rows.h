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
#include "plan/term_runs.h"
#include "plan/term_tree.h"
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
  size_t document = 0;
};

struct PlaneRows {
  std::vector<LiveRow> rows;  // group by group, queries ascending in each
  std::vector<RowGroup> groups;
  std::vector<Runs> sets;
  std::shared_ptr<const BitMatrix> bits;  // null where no row has bits
  Runs empty_rows;                        // queries without a key
  std::vector<int64_t> origins;           // of each document; -1 = no row has a key
};

/// Compiles a checked mask. Interval terms cost O(rows), documents and validity O(rows + keys),
/// trees of them the runs of each row; only dense arrays are visited element by element, once per
/// distinct plane, and functions.
class RowCompiler {
 public:
  /// `key_origin`: as in AttentionOptions.
  RowCompiler(const Problem& problem, const Mask& mask, const std::vector<int64_t>& key_origin,
              ScanFunction scan);
  RowCompiler(const RowCompiler&) = delete;
  RowCompiler& operator=(const RowCompiler&) = delete;

  /// Whether planes differ from batch entry to batch entry, and from head to head.
  bool per_batch() const { return per_batch_; }
  bool per_head() const { return per_head_; }

  PlaneRows Compile(int64_t b, int64_t h);

 private:
  struct Found;
  struct PlaneTerms;

  Runs LivePositions(bool keys, int64_t b, int64_t h) const;
  PlaneTerms TermsOfPlane(int64_t b, int64_t h);
  bool CompileRow(PlaneTerms& terms, int64_t& origin, LiveRow& row) const;
  bool CompileTreeRow(PlaneTerms& terms, int64_t& origin, LiveRow& row);
  Found FindKeys(PlaneTerms& terms, int64_t query, int32_t document, const Run& within);
  int64_t FirstTreeKey(const PlaneTerms& terms, int64_t query, int32_t document, const Run& within);
  int64_t GridOrigin(int64_t found, int64_t b) const;

  const Problem problem_;
  const std::vector<Term> terms_;
  const std::vector<int64_t> key_origin_;
  const ScanFunction scan_;
  DenseBits dense_bits_;  // of the terms that are joined by "and" at the top
  TermTree tree_;         // likewise
  bool per_batch_ = false, per_head_ = false;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_ROWS_H_
