// What one term allows on its own: positions as runs, diagonals as bands.
#ifndef SKIPATTN_PLAN_TERM_RUNS_H_
#define SKIPATTN_PLAN_TERM_RUNS_H_

#include <cstdint>

#include "kernels/scan_bits.h"
#include "plan/mask_terms.h"
#include "plan/runs.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

// Beyond every position, and far enough from the limits of int64 to be added to one.
inline constexpr int64_t kFar = int64_t{1} << 61;

/// Query i attends the keys j with i + below <= j, and j <= i + above or j < prefix.
struct Band {
  int64_t below = -kFar, above = kFar, prefix = 0;

  int64_t LowerOf(int64_t i) const { return i + below; }
  int64_t UpperOf(int64_t i) const {
    const int64_t own = i + above + 1;
    return own > prefix ? own : prefix;
  }
};

/// The offset of a diagonal in batch entry b.
int64_t OffsetOf(const Problem& problem, const mask::Diagonal& diagonal, int64_t b);

/// The band of a causal, window or prefix_causal term in batch entry b.
Band BandOf(const Problem& problem, const BandTerm& term, int64_t b);
Band BandOf(const Problem& problem, const PrefixTerm& term, int64_t b);

/// Positions that a term allows whatever is on the other side: the keys (or queries) of range,
/// valid and dense terms that do not look at queries (or keys); everything for other terms.
Runs TermRuns(const Problem& problem, const Term& term, bool keys, int64_t b, int64_t h,
              ScanFunction scan);

/// Whether a dense term varies along both queries and keys, so that only its bits will do.
bool IsPlane(const DenseTerm& term);

/// Elements [0, count) of a row of a dense array, from its element `first` on, as bits.
void ScanElements(const DenseView& view, int64_t first, int64_t stride, int64_t count,
                  ScanFunction scan, uint64_t* words);

/// The elements of a row of bools that are true.
Runs BoolRuns(const uint8_t* data, int64_t stride, int64_t count, ScanFunction scan);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_TERM_RUNS_H_
