// Mask terms to rows; see rows.h.
#include "plan/rows.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <variant>

#include "plan/documents.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Beyond every position, and far enough from the limits of int64 to be added to one.
constexpr int64_t kFar = int64_t{1} << 61;

int64_t AddClamped(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) sum = a > 0 ? kFar : -kFar;
  return std::clamp(sum, -kFar, kFar);
}

std::vector<Term> TermsOf(const Mask& mask) {
  return mask.terms() == nullptr ? std::vector<Term>() : mask.terms()->terms;
}

/// Dense arrays that vary along both queries and keys; the others are run lists.
std::vector<DenseView> DensePlanes(const std::vector<Term>& terms) {
  std::vector<DenseView> views;
  for (const Term& term : terms) {
    if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      const DenseView view = ViewOf(*dense);
      if (view.stride[2] != 0 && view.stride[3] != 0) views.push_back(view);
    }
  }
  return views;
}

/// The first key of [lo, hi) in the set and, where given, the bits; `hi` if there is none.
int64_t FirstKey(const Runs& set, const BitRow* bits, int64_t lo, int64_t hi) {
  for (auto run = FirstAfter(set, lo); run != set.end() && run->begin < hi; ++run) {
    const int64_t begin = std::max(lo, run->begin), end = std::min(hi, run->end);
    const int64_t first = bits == nullptr ? begin : bits->FirstSet(begin, end);
    if (first < end) return first;
  }
  return hi;
}

/// One more than the last such key; `lo` if there is none.
int64_t EndOfKeys(const Runs& set, const BitRow* bits, int64_t lo, int64_t hi) {
  auto run = FirstAfter(set, hi - 1);
  if (run != set.end() && run->begin < hi) ++run;
  while (run != set.begin()) {
    --run;
    const int64_t begin = std::max(lo, run->begin), end = std::min(hi, run->end);
    if (begin >= end) break;
    const int64_t last = bits == nullptr ? end : bits->EndOfSet(begin, end);
    if (last > begin) return last;
  }
  return lo;
}

}  // namespace

RowCompiler::RowCompiler(const Problem& problem, const Mask& mask,
                         const std::vector<int64_t>& key_origin, ScanFunction scan)
    : problem_(problem),
      terms_(TermsOf(mask)),
      key_origin_(key_origin),
      scan_(scan),
      dense_bits_(problem, DensePlanes(terms_), scan) {
  per_batch_ = key_origin.size() > 1;
  for (const Term& term : terms_) {
    if (const auto* band = std::get_if<BandTerm>(&term)) {
      per_batch_ |= band->diagonal.offsets.given();
    } else if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      const DenseView view = ViewOf(*dense);
      per_batch_ |= view.stride[0] != 0;
      per_head_ |= view.stride[1] != 0;
    } else {
      per_batch_ = true;
    }
  }
}

Runs RowCompiler::BoolRuns(const uint8_t* data, int64_t stride, int64_t count) const {
  std::vector<uint8_t> packed;
  if (stride != 1) {
    packed.resize(static_cast<size_t>(count));
    for (int64_t t = 0; t < count; ++t) packed[static_cast<size_t>(t)] = data[t * stride];
    data = packed.data();
  }
  std::vector<uint64_t> words(static_cast<size_t>(WordsFor(count)));
  scan_(data, count, words.data());
  return RunsOf({words.data(), count});
}

/// Positions that one term allows on its own, whatever is on the other side: the keys (or queries)
/// of terms that do not look at queries (or keys), everything for other terms.
Runs RowCompiler::TermRuns(const Term& term, bool keys, int64_t b, int64_t h) const {
  const int64_t length = keys ? problem_.k_len : problem_.q_len;
  Runs runs;
  if (const auto* range = std::get_if<RangeTerm>(&term); range && range->on_keys == keys) {
    Append(runs, range->begin.given() ? IntAt(range->begin, b) : 0, IntAt(range->end, b));
    return runs;
  }
  if (const auto* valid = std::get_if<ValidTerm>(&term);
      valid && (keys ? valid->on_keys : valid->on_queries)) {
    const ConstTensor& v = valid->valid;
    return BoolRuns(static_cast<const uint8_t*>(v.data) + b * v.stride[0], v.stride[1], length);
  }
  if (const auto* dense = std::get_if<DenseTerm>(&term)) {
    const DenseView view = ViewOf(*dense);
    // An array without either axis counts as one of queries.
    if (keys ? view.stride[2] == 0 && view.stride[3] != 0 : view.stride[3] == 0) {
      return BoolRuns(view.data + b * view.stride[0] + h * view.stride[1],
                      view.stride[keys ? 3 : 2], length);
    }
  }
  Append(runs, 0, length);
  return runs;
}

Runs RowCompiler::LivePositions(bool keys, int64_t b, int64_t h) const {
  Runs live;
  Append(live, 0, keys ? problem_.k_len : problem_.q_len);
  for (const Term& term : terms_) live = Intersect(live, TermRuns(term, keys, b, h));
  return live;
}

RowCompiler::Band RowCompiler::BandOf(int64_t b) const {
  Band band = {-kFar, kFar};
  for (const Term& term : terms_) {
    const auto* one = std::get_if<BandTerm>(&term);
    if (one == nullptr) continue;
    const mask::Diagonal& diagonal = one->diagonal;
    int64_t offset = diagonal.offset.value_or(0);
    if (diagonal.offsets.given()) offset = IntAt(diagonal.offsets, b);
    if (diagonal.align == mask::Align::kBottomRight) offset = problem_.k_len - problem_.q_len;
    if (one->left >= 0) band.below = std::max(band.below, AddClamped(offset, -one->left));
    if (one->right >= 0) band.above = std::min(band.above, AddClamped(offset, one->right));
  }
  return band;
}

/// What the rows of one plane are made from.
struct RowCompiler::PlaneTerms {
  Band band;
  DocumentSplit documents;
  std::shared_ptr<const BitMatrix> bits;  // null without dense planes
};

/// Fills in the row of query `row.query`, document `row.set`; false if it has no key. Lowers
/// `origin` to the row's first key. The origin does not know of the band: what a prefix sees must
/// not move the grid.
bool RowCompiler::CompileRow(const PlaneTerms& terms, int64_t& origin, LiveRow& row) const {
  const Runs& allowed = terms.documents.keys[static_cast<size_t>(row.set)];
  BitRow bit_row = {};
  const BitRow* bits = nullptr;
  row.bits = -1;
  if (terms.bits != nullptr) {
    row.bits = terms.bits->row_of[static_cast<size_t>(row.query)];
    bit_row = terms.bits->Row(row.bits);
    bits = &bit_row;
  }
  const int64_t first = FirstKey(allowed, bits, 0, problem_.k_len);
  if (first == problem_.k_len) return false;
  origin = std::min(origin, first);

  row.lo = std::max(first, row.query + terms.band.below);
  row.hi = std::min(problem_.k_len, row.query + terms.band.above + 1);
  if (row.lo >= row.hi) return false;
  row.lo = FirstKey(allowed, bits, row.lo, row.hi);
  if (row.lo == row.hi) return false;
  row.hi = EndOfKeys(allowed, bits, row.lo, row.hi);
  if (bits != nullptr && bits->FirstClear(row.lo, row.hi) == row.hi) row.bits = -1;
  return true;
}

int64_t RowCompiler::GridOrigin(int64_t found, int64_t b) const {
  if (!key_origin_.empty())
    found = key_origin_[key_origin_.size() > 1 ? static_cast<size_t>(b) : 0];
  return ((found % kChunk) + kChunk) % kChunk;
}

PlaneRows RowCompiler::Compile(int64_t b, int64_t h) {
  PlaneRows plane;
  if (problem_.q_len == 0 || problem_.k_len == 0) {  // arrays of terms may have no elements then
    Append(plane.empty_rows, 0, problem_.q_len);
    return plane;
  }
  PlaneTerms terms;
  terms.band = BandOf(b);
  terms.documents = SplitDocuments(problem_, terms_, b, LivePositions(true, b, h));
  if (!dense_bits_.empty()) terms.bits = dense_bits_.PlaneOf(b, h);

  const size_t documents = terms.documents.keys.size();
  std::vector<int64_t> origins(documents, std::numeric_limits<int64_t>::max());
  std::vector<std::vector<LiveRow>> groups(documents);
  int64_t next = 0;  // queries before it have been dealt with
  for (const Run& queries : LivePositions(false, b, h)) {
    for (int64_t i = queries.begin; i < queries.end; ++i) {
      const std::vector<int32_t>& of_query = terms.documents.of_query;
      LiveRow row = {};
      row.query = i;
      row.set = of_query.empty() ? 0 : of_query[static_cast<size_t>(i)];
      if (row.set < 0) continue;
      const size_t document = static_cast<size_t>(row.set);
      if (!CompileRow(terms, origins[document], row)) continue;
      groups[document].push_back(row);
      Append(plane.empty_rows, next, i);
      next = i + 1;
    }
  }
  Append(plane.empty_rows, next, problem_.q_len);

  for (size_t document = 0; document < documents; ++document) {
    const std::vector<LiveRow>& group = groups[document];
    if (group.empty()) continue;
    const size_t begin = plane.rows.size();
    plane.rows.insert(plane.rows.end(), group.begin(), group.end());
    plane.groups.push_back({begin, plane.rows.size(), GridOrigin(origins[document], b)});
  }
  plane.sets = std::move(terms.documents.keys);
  plane.bits = terms.bits;
  return plane;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
