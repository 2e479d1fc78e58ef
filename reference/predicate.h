// A mask as what it means: a predicate over (b, h, i, j).
#ifndef SKIPATTN_REFERENCE_PREDICATE_H_
#define SKIPATTN_REFERENCE_PREDICATE_H_

#include <cstdint>
#include <variant>
#include <vector>

#include "plan/mask_terms.h"
#include "skipattn/mask.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Documents as ids, [B, q_len] and [B, k_len]; -1 = of no document, when made from boundaries.
struct DocumentIds {
  std::vector<int64_t> q, k;
};

/// One term, or a tree of them.
struct MaskElement;
using Conjunction = std::vector<MaskElement>;
struct Either {
  std::vector<Conjunction> of;
};
struct Negation {
  Conjunction of;
};
struct BlockView {
  DenseView blocks;
  int64_t block_q, block_k;
};
struct MaskElement {
  std::variant<RangeTerm, ValidTerm, BandTerm, PrefixTerm, DocumentIds, DenseView, BlockView,
               FunctionTerm, Either, Negation>
      is;
};

/// Evaluates a mask that CheckMask has accepted, term by term. It reads the arrays that the mask
/// borrows, so it is for planning only.
class Predicate {
 public:
  Predicate(const Problem& problem, const Mask& mask);

  /// Whether query i of head h attends key j.
  bool Allows(int64_t b, int64_t h, int64_t i, int64_t j) const;

  /// The same with the causal, window and prefix_causal terms of the top level counted as true:
  /// what decides the origin of a row.
  bool AllowsWide(int64_t b, int64_t h, int64_t i, int64_t j) const;

  /// The document of query row i: its id in each documents term of the top level. Rows share an
  /// origin where these are equal (always, without such a term).
  std::vector<int64_t> DocumentOf(int64_t b, int64_t i) const;

  /// Whether the batch entry, or the head, can make a difference.
  bool VariesByBatch() const;
  bool VariesByHead() const;

 private:
  Conjunction ElementsOf(const MaskTerms& terms);
  MaskElement ElementOf(const Term& term);

  Problem problem_;
  Conjunction elements_;
  bool varies_by_batch_ = false, varies_by_head_ = false;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_REFERENCE_PREDICATE_H_
