// A random attention problem of the fuzzers: sizes, mask, options that decide bits, tensors.
#ifndef SKIPATTN_TESTS_FUZZ_FUZZ_CASE_H_
#define SKIPATTN_TESTS_FUZZ_FUZZ_CASE_H_

#include <cstdint>
#include <string>

#include "skipattn/attention.h"
#include "tests/attention_case.h"
#include "tests/fuzz/bend.h"
#include "tests/fuzz/live_rows.h"
#include "tests/random_bias.h"
#include "tests/random_mask.h"

namespace skipattn::test {

struct FuzzCase {
  explicit FuzzCase(Rng& rng);
  FuzzCase(const FuzzCase&) = delete;
  FuzzCase& operator=(const FuzzCase&) = delete;

  /// The case for people.
  std::string Text() const;

  /// Views of the case's tensors and of `outputs`, as this case has them.
  RunArgs Args(Outputs& outputs);

  /// What the exact reference gives for every row.
  Outputs Exact(const Reference& reference);

  /// Fills what nobody attends with hostile values.
  void SpoilWhatNobodyAttends(Rng& rng);

  /// The mask as one array [B, H, Tq, Tk], with its values in `values`.
  ConstTensor Pairs(std::vector<uint8_t>& values) const;

  Problem problem;
  RandomMask mask;
  RandomBias bias;
  AttentionOptions options;  // scale, softcap, bias_is_mask, empty_rows, key_origin
  AttentionCase data;
  LiveRows live_q, live_k, live_v;
  int64_t live_pairs = 0, empty_rows = 0;  // without what the bias masks

  /// Moderate numbers only, so that the bound of the error is of use.
  bool tame = true;

 private:
  void DrawOptions(Rng& rng);
  void DrawValues(Rng& rng);
  void FindLiveRows();

  Bend bend_q_, bend_k_, bend_v_, bend_out_, bend_lse_;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_FUZZ_FUZZ_CASE_H_
