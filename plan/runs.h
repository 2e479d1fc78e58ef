// Sorted lists of key runs, and rows of mask bits.
#ifndef SKIPATTN_PLAN_RUNS_H_
#define SKIPATTN_PLAN_RUNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Positions [begin, end).
struct Run {
  int64_t begin, end;
  friend bool operator==(const Run& a, const Run& b) {
    return a.begin == b.begin && a.end == b.end;
  }
};

/// Ascending runs that neither overlap nor touch.
using Runs = std::vector<Run>;

/// Adds [begin, end) behind all that is there, joining it to the last run if they touch.
inline void Append(Runs& runs, int64_t begin, int64_t end) {
  if (begin >= end) return;
  if (!runs.empty() && runs.back().end == begin) {
    runs.back().end = end;
  } else {
    runs.push_back({begin, end});
  }
}

/// The first run that ends after `position`; runs.end() if none does.
Runs::const_iterator FirstAfter(const Runs& runs, int64_t position);

/// Positions in both. What is given to `both` is replaced, and so below; it may not be an argument.
void Intersect(const Runs& a, const Runs& b, Runs& both);
inline Runs Intersect(const Runs& a, const Runs& b) {
  Runs both;
  Intersect(a, b, both);
  return both;
}

/// Positions in either.
void Unite(const Runs& a, const Runs& b, Runs& either);

/// Positions of `within` that are not in `runs`, which must lie in it.
void Complement(const Runs& runs, const Run& within, Runs& others);

/// Positions of `runs` that lie in `within`.
void Clip(const Runs& runs, const Run& within, Runs& inside);

/// Bits set in one row of 64-bit words: bit t of the row is bit t % 64 of word t / 64.
struct BitRow {
  const uint64_t* words;
  int64_t bits;

  bool At(int64_t t) const { return (words[t / 64] >> (t % 64)) & 1; }
  /// The first set bit in [begin, end), or `end`.
  int64_t FirstSet(int64_t begin, int64_t end) const;
  /// The first clear bit in [begin, end), or `end`.
  int64_t FirstClear(int64_t begin, int64_t end) const;
  /// One more than the last set bit in [begin, end), or `begin`.
  int64_t EndOfSet(int64_t begin, int64_t end) const;
};

inline int64_t WordsFor(int64_t bits) { return (bits + 63) / 64; }

/// Bits of word w that lie in [begin, end).
inline uint64_t RangeWord(int64_t begin, int64_t end, int64_t w) {
  const int64_t lo = begin - w * 64, hi = end - w * 64;
  if (lo >= 64 || hi <= 0 || lo >= hi) return 0;
  const uint64_t from_lo = lo <= 0 ? ~uint64_t{0} : ~uint64_t{0} << lo;
  const uint64_t to_hi = hi >= 64 ? ~uint64_t{0} : ~(~uint64_t{0} << hi);
  return from_lo & to_hi;
}

/// The set bits of a row as runs, of all of it or of those in `within`.
Runs RunsOf(const BitRow& row);
void RunsOf(const BitRow& row, const Run& within, Runs& runs);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_RUNS_H_
