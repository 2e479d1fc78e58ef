// Named benchmark cases: a problem and the mask of a workload that people have.
#ifndef SKIPATTN_BENCH_CASES_H_
#define SKIPATTN_BENCH_CASES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn::bench {

/// How a case gives its mask; the bits are the same in each.
enum class MaskForm : uint8_t {
  kTerms,  ///< as terms: padding, window, ...
  kDense,  ///< as an array of bools, one plane for all heads
  kBias,   ///< as an array of floats, 0 and -inf, that only the plan sees
};

/// What a case is made from.
struct CaseSpec {
  std::string name;  ///< one of CaseNames()
  Problem problem;

  /// Tokens of each batch entry that are no padding, at its beginning: of the keys in "cross" and
  /// "decode", of queries and keys in all others. Empty = no padding.
  std::vector<int64_t> lengths;

  int64_t window = 256;   ///< keys that a query of "window" attends
  int64_t documents = 8;  ///< documents that a sequence of "documents" is packed from
  bool causal = false;    ///< "padding", "documents": causal as well
  MaskForm form = MaskForm::kTerms;
  std::string term;  ///< "terms": one of TermNames()
};

/// A spec with its mask, and the arrays that the mask borrows: it may be moved, not copied.
struct Case {
  CaseSpec spec;
  std::string description;
  Mask mask;
  Bias bias;             ///< of the plan
  ConstTensor run_bias;  ///< of the runs; not given = none
  double softcap = 0;

  std::vector<uint8_t> valid, dense;
  std::vector<float> bias_values, sinks;
  std::vector<int64_t> key_lengths, offsets;
  std::vector<int32_t> document_ids;

  Case() = default;
  Case(Case&&) = default;
  Case& operator=(Case&&) = default;
  Case(const Case&) = delete;
  Case& operator=(const Case&) = delete;
};

/// padding, causal, window, documents, cross, decode, terms.
const std::vector<std::string>& CaseNames();

/// What "terms" adds to a score or a row: softcap, alibi, relative, bias (dense, shared by the
/// heads) and sinks.
const std::vector<std::string>& TermNames();

/// An error where the name is unknown, or `lengths` or the sizes do not fit the case.
Result<Case> MakeCase(const CaseSpec& spec);

/// The spec of one batch entry with a single head: all heads of a case are alike, so this stands
/// for every head of the entry, and a reference for it costs heads * batch times less.
CaseSpec EntryOf(const CaseSpec& spec, int64_t b);

/// How many tokens each sequence of `length` keeps when the share `ratio` is padding.
std::vector<int64_t> LengthsAtRatio(int64_t batch, int64_t length, double ratio);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_CASES_H_
