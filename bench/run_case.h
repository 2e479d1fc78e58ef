// One line of a benchmark: a case planned, timed beside its yardsticks, and checked.
#ifndef SKIPATTN_BENCH_RUN_CASE_H_
#define SKIPATTN_BENCH_RUN_CASE_H_

#include <cstdint>
#include <string>

#include "bench/cases.h"
#include "bench/data.h"
#include "bench/measure.h"
#include "bench/verify.h"
#include "skipattn/attention.h"

namespace skipattn::bench {

struct Record {
  PlanStats stats;  ///< names the target and the configuration too
  int threads = 0;
  double plan_ms = 0;         ///< median of MakePlan
  Timing run;                 ///< of Plan::Run
  Timing dense;               ///< the same shape without mask and terms, in the same rounds
  Timing read;                ///< "decode": of a plain sum over the bytes of its k and v
  int64_t bytes = 0;          ///< "decode": of the attended k and v
  double peak_gflops = 0;     ///< fma peak of `threads` threads, in the same rounds
  bool exact_target = false;  ///< has a native fma, so its bits must be equal
  Verification checked;
  uint64_t hash = 0;  ///< of the whole output

  /// Live pairs over all pairs; 0 for a problem without pairs.
  double LiveShare() const;
  double Speedup() const;       ///< over dense
  double IdealSpeedup() const;  ///< 1 / LiveShare
  double OverIdeal() const;     ///< IdealSpeedup over Speedup: 1 where time is that of live pairs
  double OverIdealWithPlan() const;  ///< the same, with a plan made for each run
  double LiveGflops() const;         ///< two operations a multiply-add, live pairs only
  double PeakShare() const;
  double Gbytes() const;      ///< attended k and v a second, in 1e9 bytes
  double ReadGbytes() const;  ///< of the plain sum
  double ReadShare() const;
  /// Errors within the bound, and equal bits where the target gives them.
  bool Right() const;

  int64_t width = 0;  ///< dim + v_dim: multiply-adds of a pair
};

/// `options.threads` must be the number to use, not 0. `inputs` must have the problem's sizes.
Result<Record> RunCase(const Case& c, const Inputs& inputs, Layout layout,
                       const AttentionOptions& options, const MeasureOptions& measure);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_RUN_CASE_H_
