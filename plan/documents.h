// Documents terms: which queries and keys belong together.
#ifndef SKIPATTN_PLAN_DOCUMENTS_H_
#define SKIPATTN_PLAN_DOCUMENTS_H_

#include <cstdint>
#include <vector>

#include "plan/mask_terms.h"
#include "plan/runs.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Queries and keys of a batch entry by document. With several documents terms, those count as one
/// document that have the same ids in all of them; without one, everything is one document.
struct DocumentSplit {
  std::vector<int32_t> of_query;  // number of each query's document, -1 = none; empty = all are 0
  std::vector<Runs> keys;         // of each document
};

/// Splits the keys `keys` of batch entry b. O(queries + keys) where there are documents.
DocumentSplit SplitDocuments(const Problem& problem, const std::vector<Term>& terms, int64_t b,
                             const Runs& keys);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_DOCUMENTS_H_
