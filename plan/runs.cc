// Run lists and bit rows; see runs.h.
#include "plan/runs.h"

#include <algorithm>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

int LowestBit(uint64_t word) { return __builtin_ctzll(word); }
int HighestBit(uint64_t word) { return 63 - __builtin_clzll(word); }

/// The first bit in [begin, end) that differs from those of `flip` (all ones or all zeros).
int64_t FirstDiffering(const BitRow& row, int64_t begin, int64_t end, uint64_t flip) {
  for (int64_t w = begin / 64; w * 64 < end; ++w) {
    const uint64_t word = (row.words[w] ^ flip) & RangeWord(begin, end, w);
    if (word != 0) return w * 64 + LowestBit(word);
  }
  return end;
}

}  // namespace

Runs::const_iterator FirstAfter(const Runs& runs, int64_t position) {
  return std::upper_bound(runs.begin(), runs.end(), position,
                          [](int64_t at, const Run& run) { return at < run.end; });
}

Runs Intersect(const Runs& a, const Runs& b) {
  Runs both;
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    Append(both, std::max(i->begin, j->begin), std::min(i->end, j->end));
    if (i->end < j->end) {
      ++i;
    } else {
      ++j;
    }
  }
  return both;
}

int64_t BitRow::FirstSet(int64_t begin, int64_t end) const {
  return FirstDiffering(*this, begin, end, 0);
}

int64_t BitRow::FirstClear(int64_t begin, int64_t end) const {
  return FirstDiffering(*this, begin, end, ~uint64_t{0});
}

int64_t BitRow::EndOfSet(int64_t begin, int64_t end) const {
  for (int64_t w = WordsFor(end) - 1; w >= begin / 64; --w) {
    const uint64_t word = words[w] & RangeWord(begin, end, w);
    if (word != 0) return w * 64 + HighestBit(word) + 1;
  }
  return begin;
}

Runs RunsOf(const BitRow& row) {
  Runs runs;
  for (int64_t at = row.FirstSet(0, row.bits); at < row.bits;) {
    const int64_t end = row.FirstClear(at, row.bits);
    runs.push_back({at, end});
    at = row.FirstSet(end, row.bits);
  }
  return runs;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
