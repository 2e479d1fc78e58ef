// Mask terms to rows; see rows.h.
#include "plan/rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <variant>

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

Runs RowCompiler::LiveKeys(int64_t b, int64_t h) const {
  Runs keys;
  Append(keys, 0, problem_.k_len);
  for (const Term& term : terms_) {
    if (const auto* range = std::get_if<RangeTerm>(&term); range != nullptr && range->on_keys) {
      Runs one;
      Append(one, range->begin.given() ? IntAt(range->begin, b) : 0, IntAt(range->end, b));
      keys = Intersect(keys, one);
    } else if (const auto* valid = std::get_if<ValidTerm>(&term);
               valid != nullptr && valid->on_keys) {
      const ConstTensor& v = valid->valid;
      const uint8_t* row = static_cast<const uint8_t*>(v.data) + b * v.stride[0];
      keys = Intersect(keys, BoolRuns(row, v.stride[1], problem_.k_len));
    } else if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      const DenseView view = ViewOf(*dense);
      if (view.stride[2] != 0 || view.stride[3] == 0) continue;
      const uint8_t* row = view.data + b * view.stride[0] + h * view.stride[1];
      keys = Intersect(keys, BoolRuns(row, view.stride[3], problem_.k_len));
    }
  }
  return keys;
}

Runs RowCompiler::LiveQueries(int64_t b, int64_t h) const {
  Runs queries;
  Append(queries, 0, problem_.q_len);
  for (const Term& term : terms_) {
    if (const auto* range = std::get_if<RangeTerm>(&term); range != nullptr && !range->on_keys) {
      Runs one;
      Append(one, range->begin.given() ? IntAt(range->begin, b) : 0, IntAt(range->end, b));
      queries = Intersect(queries, one);
    } else if (const auto* valid = std::get_if<ValidTerm>(&term);
               valid != nullptr && valid->on_queries) {
      const ConstTensor& v = valid->valid;
      const uint8_t* row = static_cast<const uint8_t*>(v.data) + b * v.stride[0];
      queries = Intersect(queries, BoolRuns(row, v.stride[1], problem_.q_len));
    } else if (const auto* dense = std::get_if<DenseTerm>(&term)) {
      const DenseView view = ViewOf(*dense);
      if (view.stride[3] != 0) continue;
      const uint8_t* row = view.data + b * view.stride[0] + h * view.stride[1];
      queries = Intersect(queries, BoolRuns(row, view.stride[2], problem_.q_len));
    }
  }
  return queries;
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

RowCompiler::Documents RowCompiler::SplitDocuments(int64_t b, const Runs& keys,
                                                   std::vector<Runs>& sets) const {
  // Each term splits the classes that the terms before it made; queries and keys of one class have
  // the same ids in all of them.
  Documents documents;
  std::vector<int32_t> of_key(static_cast<size_t>(problem_.k_len), 0);
  documents.of_query.assign(static_cast<size_t>(problem_.q_len), 0);
  documents.count = 1;
  for (const Term& term : terms_) {
    const auto* one = std::get_if<DocumentsTerm>(&term);
    if (one == nullptr) continue;
    std::map<std::pair<int32_t, int64_t>, int32_t> classes;
    const auto split = [&](const ConstTensor& ids, std::vector<int32_t>& of) {
      int64_t document = 0;
      for (size_t t = 0; t < of.size(); ++t) {
        const int64_t at = static_cast<int64_t>(t);
        if (one->boundaries) {
          while (IntAt(ids, document + 1) <= at) ++document;
        } else {
          document = IntAt(ids, b, at);
        }
        if (document < 0 || of[t] < 0) {
          of[t] = -1;
        } else {
          of[t] = classes.emplace(std::make_pair(of[t], document), classes.size()).first->second;
        }
      }
    };
    split(one->q, documents.of_query);
    split(one->k, of_key);
    documents.count = classes.size();
  }
  sets.assign(documents.count, {});
  for (const Run& run : keys) {
    for (int64_t j = run.begin; j < run.end; ++j) {
      const int32_t document = of_key[static_cast<size_t>(j)];
      if (document >= 0) Append(sets[static_cast<size_t>(document)], j, j + 1);
    }
  }
  return documents;
}

PlaneRows RowCompiler::Compile(int64_t b, int64_t h) {
  PlaneRows plane;
  const Runs keys = LiveKeys(b, h);
  const bool has_documents = std::any_of(terms_.begin(), terms_.end(), [](const Term& term) {
    return std::holds_alternative<DocumentsTerm>(term);
  });
  Documents documents;
  if (has_documents) {
    documents = SplitDocuments(b, keys, plane.sets);
  } else {
    documents.count = 1;
    plane.sets.push_back(keys);
  }
  if (!dense_bits_.empty()) plane.bits = dense_bits_.PlaneOf(b, h);

  const Band band = BandOf(b);
  const int64_t none = std::numeric_limits<int64_t>::max();
  std::vector<int64_t> origins(documents.count, none);
  std::vector<std::vector<LiveRow>> groups(documents.count);
  int64_t next = 0;  // queries before it have been dealt with
  for (const Run& queries : LiveQueries(b, h)) {
    for (int64_t i = queries.begin; i < queries.end; ++i) {
      const int32_t set = has_documents ? documents.of_query[static_cast<size_t>(i)] : 0;
      if (set < 0) continue;
      const Runs& allowed = plane.sets[static_cast<size_t>(set)];
      LiveRow row = {i, 0, problem_.k_len, set, -1};
      BitRow bit_row = {};
      if (plane.bits != nullptr) {
        row.bits = plane.bits->row_of[static_cast<size_t>(i)];
        bit_row = plane.bits->Row(row.bits);
      }
      const BitRow* bits = plane.bits == nullptr ? nullptr : &bit_row;
      // The grid's origin does not know of the band: what a prefix sees does not move it.
      const int64_t first = FirstKey(allowed, bits, 0, problem_.k_len);
      if (first == problem_.k_len) continue;
      int64_t& origin = origins[static_cast<size_t>(set)];
      origin = std::min(origin, first);

      row.lo = std::max(first, i + band.below);
      row.hi = std::min(problem_.k_len, i + band.above + 1);
      if (row.lo >= row.hi) continue;
      row.lo = FirstKey(allowed, bits, row.lo, row.hi);
      if (row.lo == row.hi) continue;
      row.hi = EndOfKeys(allowed, bits, row.lo, row.hi);
      if (bits != nullptr && bits->FirstClear(row.lo, row.hi) == row.hi) row.bits = -1;
      groups[static_cast<size_t>(set)].push_back(row);
      Append(plane.empty_rows, next, i);
      next = i + 1;
    }
  }
  Append(plane.empty_rows, next, problem_.q_len);

  for (size_t g = 0; g < groups.size(); ++g) {
    if (groups[g].empty()) continue;
    int64_t origin = origins[g];
    if (!key_origin_.empty()) origin = key_origin_[key_origin_.size() > 1 ? static_cast<size_t>(b) : 0];
    origin = ((origin % kChunk) + kChunk) % kChunk;
    const size_t begin = plane.rows.size();
    plane.rows.insert(plane.rows.end(), groups[g].begin(), groups[g].end());
    plane.groups.push_back({begin, plane.rows.size(), origin});
  }
  return plane;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
