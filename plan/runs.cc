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

void Intersect(const Runs& a, const Runs& b, Runs& both) {
  both.clear();
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();) {
    Append(both, std::max(i->begin, j->begin), std::min(i->end, j->end));
    if (i->end < j->end) {
      ++i;
    } else {
      ++j;
    }
  }
}

void Unite(const Runs& a, const Runs& b, Runs& either) {
  either.clear();
  for (auto i = a.begin(), j = b.begin(); i != a.end() || j != b.end();) {
    const bool from_a = j == b.end() || (i != a.end() && i->begin < j->begin);
    const Run& next = from_a ? *i++ : *j++;
    if (!either.empty() && next.begin <= either.back().end) {
      either.back().end = std::max(either.back().end, next.end);
    } else {
      either.push_back(next);
    }
  }
}

void Complement(const Runs& runs, const Run& within, Runs& others) {
  others.clear();
  int64_t begin = within.begin;
  for (const Run& run : runs) {
    Append(others, begin, run.begin);
    begin = run.end;
  }
  Append(others, begin, within.end);
}

void Clip(const Runs& runs, const Run& within, Runs& inside) {
  inside.clear();
  for (auto run = FirstAfter(runs, within.begin); run != runs.end() && run->begin < within.end;
       ++run) {
    Append(inside, std::max(run->begin, within.begin), std::min(run->end, within.end));
  }
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
  RunsOf(row, {0, row.bits}, runs);
  return runs;
}

void RunsOf(const BitRow& row, const Run& within, Runs& runs) {
  runs.clear();
  for (int64_t at = row.FirstSet(within.begin, within.end); at < within.end;) {
    const int64_t end = row.FirstClear(at, within.end);
    runs.push_back({at, end});
    at = row.FirstSet(end, within.end);
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
