// The predicate of a mask, as plainly as its definition; see predicate.h.
#include "reference/predicate.h"

#include <algorithm>
#include <type_traits>
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

bool Allowed(const Problem& problem, const PrefixTerm& term, const Place& at) {
  const Int128 own = static_cast<Int128>(at.i) + OffsetOf(problem, term.diagonal, at.b);
  return at.j < IntAt(term.prefix, at.b) || at.j <= own;
}

bool Allowed(const Problem& problem, const DocumentIds& ids, const Place& at) {
  const int64_t q = ids.q[static_cast<size_t>(at.b * problem.q_len + at.i)];
  const int64_t k = ids.k[static_cast<size_t>(at.b * problem.k_len + at.j)];
  return q >= 0 && q == k;
}

bool Allowed(const Problem&, const DenseView& view, const Place& at) {
  return view.At(at.b, at.h, at.i, at.j);
}

bool Allowed(const Problem&, const BlockView& view, const Place& at) {
  return view.blocks.At(at.b, at.h, at.i / view.block_q, at.j / view.block_k);
}

bool Allowed(const Problem&, const FunctionTerm& term, const Place& at) {
  return CallFunction(term, at.b, at.h, at.i, at.j);
}

bool AllHold(const Problem& problem, const Conjunction& elements, const Place& at);

bool Allowed(const Problem& problem, const Either& either, const Place& at) {
  return std::any_of(either.of.begin(), either.of.end(),
                     [&](const Conjunction& one) { return AllHold(problem, one, at); });
}

bool Allowed(const Problem& problem, const Negation& negation, const Place& at) {
  return !AllHold(problem, negation.of, at);
}

bool Holds(const Problem& problem, const MaskElement& element, const Place& at) {
  return std::visit([&](const auto& one) { return Allowed(problem, one, at); }, element.is);
}

bool AllHold(const Problem& problem, const Conjunction& elements, const Place& at) {
  return std::all_of(elements.begin(), elements.end(),
                     [&](const MaskElement& element) { return Holds(problem, element, at); });
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

// A term of arrays, all of it as it is evaluated.
MaskElement Element(const Problem&, const RangeTerm& term) { return {term}; }
MaskElement Element(const Problem&, const ValidTerm& term) { return {term}; }
MaskElement Element(const Problem&, const BandTerm& term) { return {term}; }
MaskElement Element(const Problem&, const PrefixTerm& term) { return {term}; }
MaskElement Element(const Problem&, const DenseTerm& term) { return {ViewOf(term)}; }
MaskElement Element(const Problem&, const FunctionTerm& term) { return {term}; }
MaskElement Element(const Problem&, const BlocksTerm& term) {
  return {BlockView{ViewOf(term), term.block_q, term.block_k}};
}
MaskElement Element(const Problem& problem, const DocumentsTerm& term) {
  const auto& [boundaries, q, k] = term;
  return {boundaries
              ? DocumentIds{NumberDocuments(q, problem.q_len), NumberDocuments(k, problem.k_len)}
              : DocumentIds{CopyIds(q), CopyIds(k)}};
}

bool ByBatch(const RangeTerm& term) { return Varies(term.begin) || Varies(term.end); }
bool ByBatch(const ValidTerm& term) { return Varies(term.valid); }
bool ByBatch(const BandTerm& term) { return Varies(term.diagonal.offsets); }
bool ByBatch(const PrefixTerm& term) {
  return Varies(term.prefix) || Varies(term.diagonal.offsets);
}
bool ByBatch(const DocumentsTerm& term) {
  return !term.boundaries && (Varies(term.q) || Varies(term.k));
}
bool ByBatch(const DenseTerm& term) { return ViewOf(term).stride[0] != 0; }
bool ByBatch(const BlocksTerm& term) { return ViewOf(term).stride[0] != 0; }
bool ByBatch(const FunctionTerm&) { return true; }

template <typename T>
bool ByHead(const T& term) {
  if constexpr (std::is_same_v<T, DenseTerm> || std::is_same_v<T, BlocksTerm>) {
    return ViewOf(term).stride[1] != 0;
  }
  return std::is_same_v<T, FunctionTerm>;
}

bool IsBand(const MaskElement& element) {
  return std::holds_alternative<BandTerm>(element.is) ||
         std::holds_alternative<PrefixTerm>(element.is);
}

}  // namespace

Predicate::Predicate(const Problem& problem, const Mask& mask) : problem_(problem) {
  if (mask.terms() != nullptr) elements_ = ElementsOf(*mask.terms());
}

Conjunction Predicate::ElementsOf(const MaskTerms& terms) {
  Conjunction elements;
  for (const Term& term : terms.terms) elements.push_back(ElementOf(term));
  return elements;
}

MaskElement Predicate::ElementOf(const Term& term) {
  return std::visit(
      [&](const auto& one) -> MaskElement {
        using T = std::decay_t<decltype(one)>;
        if constexpr (std::is_same_v<T, OrTerm>) {
          Either either;
          for (const auto& terms : one.of) either.of.push_back(ElementsOf(*terms));
          return {std::move(either)};
        } else if constexpr (std::is_same_v<T, NotTerm>) {
          return {Negation{ElementsOf(*one.of)}};
        } else if constexpr (std::is_same_v<T, TooDeepTerm>) {
          return {Either{}};  // CheckMask has refused it
        } else {
          varies_by_batch_ |= ByBatch(one);
          varies_by_head_ |= ByHead(one);
          return Element(problem_, one);
        }
      },
      term);
}

bool Predicate::Allows(int64_t b, int64_t h, int64_t i, int64_t j) const {
  return AllHold(problem_, elements_, {b, h, i, j});
}

bool Predicate::AllowsWide(int64_t b, int64_t h, int64_t i, int64_t j) const {
  return std::all_of(elements_.begin(), elements_.end(), [&](const MaskElement& element) {
    return IsBand(element) || Holds(problem_, element, {b, h, i, j});
  });
}

std::vector<int64_t> Predicate::DocumentOf(int64_t b, int64_t i) const {
  std::vector<int64_t> document;
  for (const MaskElement& element : elements_) {
    if (const auto* ids = std::get_if<DocumentIds>(&element.is)) {
      document.push_back(ids->q[static_cast<size_t>(b * problem_.q_len + i)]);
    }
  }
  return document;
}

bool Predicate::VariesByBatch() const { return varies_by_batch_; }
bool Predicate::VariesByHead() const { return varies_by_head_; }

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
