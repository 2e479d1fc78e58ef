// The predicate of a mask, as plainly as its definition; see predicate.h.
#include "reference/predicate.h"

#include <algorithm>
#include <utility>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Offsets and window sides are any 64-bit numbers: their sums need more.
__extension__ using Int128 = __int128;

// A place in the mask.
struct Place {
  int64_t b, h, i, j;
};

bool Allowed(const Problem&, const RangeTerm& term, const Place& at) {
  const int64_t t = term.on_keys ? at.j : at.i;
  const int64_t begin = term.begin.given() ? IntAt(term.begin, at.b) : 0;
  return begin <= t && t < IntAt(term.end, at.b);
}

bool Allowed(const Problem&, const ValidTerm& term, const Place& at) {
  if (term.on_queries && !BoolAt(term.valid, at.b, at.i)) return false;
  if (term.on_keys && !BoolAt(term.valid, at.b, at.j)) return false;
  return true;
}

int64_t OffsetOf(const Problem& problem, const mask::Diagonal& diagonal, int64_t b) {
  if (diagonal.offsets.given()) return IntAt(diagonal.offsets, b);
  if (diagonal.offset.has_value()) return *diagonal.offset;
  const bool bottom_right = diagonal.align == mask::Align::kBottomRight;
  return bottom_right ? problem.k_len - problem.q_len : 0;
}

bool Allowed(const Problem& problem, const BandTerm& term, const Place& at) {
  const Int128 own = static_cast<Int128>(at.i) + OffsetOf(problem, term.diagonal, at.b);
  if (term.left != -1 && at.j < own - term.left) return false;
  // Causal is the band without a limit on the left, up to one's own key on the right.
  if (term.right != -1 && at.j > own + term.right) return false;
  return true;
}

bool Allowed(const Problem& problem, const DocumentIds& ids, const Place& at) {
  const int64_t q = ids.q[static_cast<size_t>(at.b * problem.q_len + at.i)];
  const int64_t k = ids.k[static_cast<size_t>(at.b * problem.k_len + at.j)];
  return q >= 0 && q == k;
}

bool Allowed(const Problem&, const DenseView& view, const Place& at) {
  return view.At(at.b, at.h, at.i, at.j);
}

// The ids of all positions, from an id each.
std::vector<int64_t> CopyIds(const ConstTensor& ids) {
  std::vector<int64_t> copy;
  for (int64_t b = 0; b < ids.shape[0]; ++b) {
    for (int64_t t = 0; t < ids.shape[1]; ++t) copy.push_back(IntAt(ids, b, t));
  }
  return copy;
}

// The same from boundaries: the document's number.
std::vector<int64_t> NumberDocuments(const ConstTensor& boundaries, int64_t length) {
  std::vector<int64_t> ids(static_cast<size_t>(length), -1);
  for (int64_t n = 0; n + 1 < boundaries.shape[0]; ++n) {
    const auto begin = ids.begin() + IntAt(boundaries, n);
    std::fill(begin, ids.begin() + IntAt(boundaries, n + 1), n);
  }
  return ids;
}

// Whether an array whose first axis is the batch can differ between its entries.
bool Varies(const ConstTensor& a) { return a.given() && a.shape[0] > 1 && a.stride[0] != 0; }

bool DependsOnBatch(const RangeTerm& term) { return Varies(term.begin) || Varies(term.end); }
bool DependsOnBatch(const ValidTerm& term) { return Varies(term.valid); }
bool DependsOnBatch(const BandTerm& term) { return Varies(term.diagonal.offsets); }
bool DependsOnBatch(const DocumentsTerm& term) {
  return !term.boundaries && (Varies(term.q) || Varies(term.k));
}
bool DependsOnBatch(const DenseTerm& term) { return ViewOf(term).stride[0] != 0; }

}  // namespace

Predicate::Predicate(const Problem& problem, const Mask& mask) : problem_(problem) {
  if (mask.terms() == nullptr) return;
  for (const Term& term : mask.terms()->terms) {
    varies_by_batch_ |= std::visit([](const auto& one) { return DependsOnBatch(one); }, term);
    if (const auto* documents = std::get_if<DocumentsTerm>(&term)) {
      const auto& [boundaries, q, k] = *documents;
      elements_.push_back(boundaries ? DocumentIds{NumberDocuments(q, problem.q_len),
                                                   NumberDocuments(k, problem.k_len)}
                                     : DocumentIds{CopyIds(q), CopyIds(k)});
    } else if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      elements_.push_back(ViewOf(*dense));
    } else if (const auto* range = std::get_if<RangeTerm>(&term)) {
      elements_.push_back(*range);
    } else if (const auto* valid = std::get_if<ValidTerm>(&term)) {
      elements_.push_back(*valid);
    } else if (const auto* band = std::get_if<BandTerm>(&term)) {
      elements_.push_back(*band);
    }
  }
}

bool Predicate::Holds(const Element& element, int64_t b, int64_t h, int64_t i, int64_t j) const {
  const Place at = {b, h, i, j};
  return std::visit([&](const auto& one) { return Allowed(problem_, one, at); }, element);
}

bool Predicate::Allows(int64_t b, int64_t h, int64_t i, int64_t j) const {
  return std::all_of(elements_.begin(), elements_.end(),
                     [&](const Element& element) { return Holds(element, b, h, i, j); });
}

bool Predicate::AllowsWide(int64_t b, int64_t h, int64_t i, int64_t j) const {
  return std::all_of(elements_.begin(), elements_.end(), [&](const Element& element) {
    return std::holds_alternative<BandTerm>(element) || Holds(element, b, h, i, j);
  });
}

std::vector<int64_t> Predicate::DocumentOf(int64_t b, int64_t i) const {
  std::vector<int64_t> document;
  for (const Element& element : elements_) {
    if (const auto* ids = std::get_if<DocumentIds>(&element)) {
      document.push_back(ids->q[static_cast<size_t>(b * problem_.q_len + i)]);
    }
  }
  return document;
}

bool Predicate::VariesByBatch() const { return varies_by_batch_; }

bool Predicate::VariesByHead() const {
  return std::any_of(elements_.begin(), elements_.end(), [](const Element& element) {
    const auto* view = std::get_if<DenseView>(&element);
    return view != nullptr && view->stride[1] != 0;
  });
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
