// Named benchmark cases: a problem and the mask of a workload that people have.
#ifndef SKIPATTN_BENCH_CASES_H_
#define SKIPATTN_BENCH_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn::bench {

/// What a case is made from.
struct CaseSpec {
  std::string name;  ///< one of CaseNames()
  Problem problem;

  /// Tokens of each batch entry that are no padding, at its beginning: of the keys in "cross" and
  /// "decode", of queries and keys in all others. Empty = no padding.
  std::vector<int64_t> lengths;

  int64_t window = 256;   ///< keys that a query of "window" attends
  int64_t documents = 8;  ///< documents that a sequence of "documents" is packed from
};

/// A spec with its mask, and the arrays that the mask borrows: it may be moved, not copied.
struct Case {
  CaseSpec spec;
  std::string description;
  Mask mask;

  std::vector<uint8_t> valid;
  std::vector<int64_t> key_lengths, offsets;
  std::vector<int32_t> document_ids;

  Case() = default;
  Case(Case&&) = default;
  Case& operator=(Case&&) = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
};

/// padding, causal, window, documents, cross, decode.
const std::vector<std::string>& CaseNames();

/// An error where the name is unknown, or `lengths` or the sizes do not fit the case.
Result<Case> MakeCase(const CaseSpec& spec);

/// The spec of one batch entry with a single head: no case looks at the head, so this stands for
/// every head of the entry, and a reference for it costs heads * batch times less.
CaseSpec EntryOf(const CaseSpec& spec, int64_t b);

/// How many tokens each sequence of `length` keeps when the share `ratio` is padding.
std::vector<int64_t> LengthsAtRatio(int64_t batch, int64_t length, double ratio);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_CASES_H_
