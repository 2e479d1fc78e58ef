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

std::vector<Term> TermsOf(const Mask& mask) {
  return mask.terms() == nullptr ? std::vector<Term>() : mask.terms()->terms;
}

/// Dense arrays that vary along both queries and keys; the others are run lists.
std::vector<DenseView> DensePlanes(const std::vector<Term>& terms) {
  std::vector<DenseView> views;
  for (const Term& term : terms) {
    if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      if (IsPlane(*dense)) views.push_back(ViewOf(*dense));
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

/// Narrows the keys `keys` of a row with a set and, where given, bits to the first and last that it
/// attends; false if there is none.
bool Narrow(const Run& keys, const Runs& set, const BitRow* bits, LiveRow& row) {
  if (keys.begin >= keys.end) return false;
  row.lo = FirstKey(set, bits, keys.begin, keys.end);
  if (row.lo == keys.end) return false;
  row.hi = EndOfKeys(set, bits, row.lo, keys.end);
  if (bits != nullptr && bits->FirstClear(row.lo, row.hi) == row.hi) row.bits = -1;
  return true;
}

/// Whether a mask can differ between batch entries, and between heads.
struct Variety {
  bool by_batch = false, by_head = false;
};

void AddVariety(const Term& term, Variety& variety) {
  const auto add_view = [&](const auto* array) {
    if (array == nullptr) return false;
    const DenseView view = ViewOf(*array);
    variety.by_batch |= view.stride[0] != 0;
    variety.by_head |= view.stride[1] != 0;
    return true;
  };
  const auto add_all = [&](const auto& masks) {
    for (const auto& one : masks) {
      for (const Term& inner : one->terms) AddVariety(inner, variety);
    }
  };
  if (const auto* band = std::get_if<BandTerm>(&term)) {
    variety.by_batch |= band->diagonal.offsets.given();
  } else if (const auto* either = std::get_if<OrTerm>(&term)) {
    add_all(either->of);
  } else if (const auto* negation = std::get_if<NotTerm>(&term)) {
    add_all(std::vector{negation->of});
  } else if (!add_view(std::get_if<DenseTerm>(&term)) &&
             !add_view(std::get_if<BlocksTerm>(&term))) {
    variety.by_batch = true;
    variety.by_head |= std::holds_alternative<FunctionTerm>(term);
  }
}

}  // namespace

RowCompiler::RowCompiler(const Problem& problem, const Mask& mask,
                         const std::vector<int64_t>& key_origin, ScanFunction scan)
    : problem_(problem),
      terms_(TermsOf(mask)),
      key_origin_(key_origin),
      scan_(scan),
      dense_bits_(problem, DensePlanes(terms_), scan),
      tree_(problem, terms_, scan) {
  Variety variety;
  for (const Term& term : terms_) AddVariety(term, variety);
  per_batch_ = variety.by_batch || key_origin.size() > 1;
  per_head_ = variety.by_head;
}

Runs RowCompiler::LivePositions(bool keys, int64_t b, int64_t h) const {
  Runs live;
  Append(live, 0, keys ? problem_.k_len : problem_.q_len);
  for (const Term& term : terms_) {
    live = Intersect(live, TermRuns(problem_, term, keys, b, h, scan_));
  }
  return live;
}

/// Where the keys of a row of the tree are: [lo, hi) of a set and, unless -1, a row of bits.
struct RowCompiler::Found {
  int64_t lo, hi;
  int32_t set;
  int64_t bits;
};

/// What the rows of one plane are made from.
struct RowCompiler::PlaneTerms {
  std::vector<Band> bands;  // joined by "and"
  std::vector<int32_t> of_query;
  std::vector<Runs> sets;                 // of each document, then of rows of the tree
  std::shared_ptr<const BitMatrix> bits;  // null without dense planes
  // Of the tree:
  std::shared_ptr<BitMatrix> tree_bits;
  Found last = {};
  int64_t last_query = -1;
  int32_t last_document = -1;

  /// What the bands leave of `keys`.
  Run InBands(int64_t query, Run keys) const {
    for (const Band& band : bands) {
      keys.begin = std::max(keys.begin, band.LowerOf(query));
      keys.end = std::min(keys.end, band.UpperOf(query));
    }
    return keys;
  }
};

RowCompiler::PlaneTerms RowCompiler::TermsOfPlane(int64_t b, int64_t h) {
  PlaneTerms plane;
  for (const Term& term : terms_) {
    if (const auto* band = std::get_if<BandTerm>(&term)) {
      plane.bands.push_back(BandOf(problem_, *band, b));
    } else if (const auto* prefix = std::get_if<PrefixTerm>(&term)) {
      plane.bands.push_back(BandOf(problem_, *prefix, b));
    }
  }
  DocumentSplit documents = SplitDocuments(problem_, terms_, b, LivePositions(true, b, h));
  plane.of_query = std::move(documents.of_query);
  plane.sets = std::move(documents.keys);
  if (!dense_bits_.empty()) plane.bits = dense_bits_.PlaneOf(b, h);
  if (!tree_.empty()) {
    tree_.SelectPlane(b, h, plane.bits);
    plane.tree_bits = std::make_shared<BitMatrix>();
    plane.tree_bits->keys = problem_.k_len;
  }
  return plane;
}

/// Fills in the row of query `row.query`, document `row.set`; false if it has no key. Lowers
/// `origin` to the row's first key. The origin does not know of the bands: what a prefix sees must
/// not move the grid.
bool RowCompiler::CompileRow(PlaneTerms& terms, int64_t& origin, LiveRow& row) const {
  const Runs& allowed = terms.sets[static_cast<size_t>(row.set)];
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
  return Narrow(terms.InBands(row.query, {first, problem_.k_len}), allowed, bits, row);
}

/// The same for a row of the tree.
bool RowCompiler::CompileTreeRow(PlaneTerms& terms, int64_t& origin, LiveRow& row) {
  const int32_t document = row.set;
  if (terms.sets[static_cast<size_t>(document)].empty()) return false;
  const Run all = {terms.sets[static_cast<size_t>(document)].front().begin,
                   terms.sets[static_cast<size_t>(document)].back().end};
  const Run band = terms.InBands(row.query, all);
  if (tree_.slides()) {
    // Keys that the bands leave out are of interest only where they may be the first of all.
    const Run lower = {all.begin, std::min(all.end, origin)};
    if (key_origin_.empty() && lower.begin < lower.end) {
      const int64_t first = FirstTreeKey(terms, row.query, document, lower);
      if (first < lower.end) origin = first;
    }
    if (band.begin >= band.end) return false;
    terms.last = FindKeys(terms, row.query, document, band);
  } else if (document != terms.last_document || !tree_.SameKeys(row.query, terms.last_query)) {
    terms.last = FindKeys(terms, row.query, document, all);
    terms.last_query = row.query;
    terms.last_document = document;
  }
  const Found& found = terms.last;
  if (found.lo >= found.hi) return false;
  if (!tree_.slides()) origin = std::min(origin, found.lo);
  row.set = found.set;
  row.bits = found.bits;
  const BitRow bits = found.bits >= 0 ? terms.tree_bits->Row(found.bits) : BitRow{};
  return Narrow({std::max(band.begin, found.lo), std::min(band.end, found.hi)},
                terms.sets[static_cast<size_t>(found.set)], found.bits >= 0 ? &bits : nullptr, row);
}

/// The first key of `within` that is in the tree and the document; the end of `within` if none is.
int64_t RowCompiler::FirstTreeKey(const PlaneTerms& terms, int64_t query, int32_t document,
                                  const Run& within) {
  const Runs& allowed = terms.sets[static_cast<size_t>(document)];
  if (tree_.WantsBits(query, within)) {
    const std::vector<uint64_t> words = tree_.BitsOf(query, within);
    const BitRow bits = {words.data(), problem_.k_len};
    return FirstKey(allowed, &bits, within.begin, within.end);
  }
  const Runs keys = Intersect(tree_.KeysOf(query, within), allowed);
  return keys.empty() ? within.end : keys.front().begin;
}

/// The keys of the tree and the document in `within`; the first of them is `lo`, the last is below
/// `hi`.
RowCompiler::Found RowCompiler::FindKeys(PlaneTerms& terms, int64_t query, int32_t document,
                                         const Run& within) {
  if (tree_.WantsBits(query, within)) {
    BitMatrix& matrix = *terms.tree_bits;
    const std::vector<uint64_t> words = tree_.BitsOf(query, within);
    const ptrdiff_t size = static_cast<ptrdiff_t>(words.size());
    if (matrix.words.empty() ||
        !std::equal(words.begin(), words.end(), matrix.words.end() - size)) {
      matrix.words.insert(matrix.words.end(), words.begin(), words.end());
    }
    const int64_t row = static_cast<int64_t>(matrix.words.size()) / size - 1;
    const BitRow bits = matrix.Row(row);
    const Runs& allowed = terms.sets[static_cast<size_t>(document)];
    return {FirstKey(allowed, &bits, within.begin, within.end), within.end, document, row};
  }
  const Runs& of_tree = tree_.KeysOf(query, within);
  const Runs& allowed = terms.sets[static_cast<size_t>(document)];
  if (of_tree.size() == 1) {  // an interval of the document's keys
    const auto [begin, end] = of_tree[0];
    return {FirstKey(allowed, nullptr, begin, end), end, document, -1};
  }
  Runs keys = Intersect(of_tree, allowed);
  if (keys.empty()) return {0, 0, document, -1};
  const Run bounds = {keys.front().begin, keys.back().end};
  if (keys.size() == 1) return {bounds.begin, bounds.end, document, -1};
  terms.sets.push_back(std::move(keys));
  return {bounds.begin, bounds.end, static_cast<int32_t>(terms.sets.size()) - 1, -1};
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
  PlaneTerms terms = TermsOfPlane(b, h);
  const size_t documents = terms.sets.size();
  std::vector<int64_t> origins(documents, std::numeric_limits<int64_t>::max());
  std::vector<std::vector<LiveRow>> groups(documents);
  int64_t next = 0;  // queries before it have been dealt with
  for (const Run& queries : LivePositions(false, b, h)) {
    for (int64_t i = queries.begin; i < queries.end; ++i) {
      LiveRow row = {};
      row.query = i;
      row.set = terms.of_query.empty() ? 0 : terms.of_query[static_cast<size_t>(i)];
      if (row.set < 0) continue;
      const size_t document = static_cast<size_t>(row.set);
      int64_t& origin = origins[document];
      if (!(tree_.empty() ? CompileRow(terms, origin, row) : CompileTreeRow(terms, origin, row))) {
        continue;
      }
      groups[document].push_back(row);
      Append(plane.empty_rows, next, i);
      next = i + 1;
    }
  }
  Append(plane.empty_rows, next, problem_.q_len);

  for (size_t document = 0; document < documents; ++document) {
    const bool found =
        !key_origin_.empty() || origins[document] < std::numeric_limits<int64_t>::max();
    plane.origins.push_back(found ? GridOrigin(origins[document], b) : -1);
    const std::vector<LiveRow>& group = groups[document];
    if (group.empty()) continue;
    const size_t begin = plane.rows.size();
    plane.rows.insert(plane.rows.end(), group.begin(), group.end());
    plane.groups.push_back({begin, plane.rows.size(), plane.origins[document], document});
  }
  plane.sets = std::move(terms.sets);
  plane.bits = tree_.empty() ? terms.bits : terms.tree_bits;
  return plane;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
