// The ways of running one problem that must all give the same bits.
#ifndef SKIPATTN_TESTS_FUZZ_WAY_H_
#define SKIPATTN_TESTS_FUZZ_WAY_H_

#include <cstddef>
#include <functional>
#include <string>

#include "tests/fuzz/fuzz_case.h"

namespace skipattn::test {

/// One way: target, configuration, threads and whose they are, scratch, the host's rounding mode.
class Way {
 public:
  explicit Way(Rng& rng);

  /// For people.
  std::string Text() const;

  /// Plans and runs the case, and checks what it wrote against `want`, what the exact reference
  /// gives. Empty if all is well.
  std::string Check(FuzzCase& one, const Reference& reference, const Outputs& want) const;

 private:
  enum class Form { kTerms, kDense, kBlocks, kFunction };
  enum class Threads { kOpenMP, kStdThreads, kOneAfterTheOther, kNestedRun };

  AttentionOptions Options(const FuzzCase& one) const;
  Mask MaskOf(const FuzzCase& one, std::vector<uint8_t>& pairs) const;
  Status Run(FuzzCase& one, size_t workspace_bytes,
             const std::function<Status(const RunArgs&)>& run, Outputs& outputs) const;
  std::string CheckStats(const FuzzCase& one, const Plan& plan) const;

  TargetConfig target_;
  Form form_;  // of the mask
  bool reference_backend_, own_workspace_, with_lse_, one_shot_;
  Skipping skipping_;
  Threads whose_threads_;
  int plan_threads_, run_threads_, rounding_;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_FUZZ_WAY_H_
