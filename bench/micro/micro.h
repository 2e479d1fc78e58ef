// What all micro-benchmarks share: a piece of work that is checked once, then timed beside the fma
// peak of its target.
#ifndef SKIPATTN_BENCH_MICRO_MICRO_H_
#define SKIPATTN_BENCH_MICRO_MICRO_H_

#include <benchmark/benchmark.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace skipattn::bench {

/// A compiled target that this CPU can run.
struct MicroTarget {
  std::string name;
  int64_t bit;  ///< Highway's
  bool exact;   ///< has a native fma, so its bits are those of the reference
};

/// Best first.
std::vector<MicroTarget> MicroTargets();

/// What a finished loop was measured to be.
struct Loop {
  double seconds;  ///< of one call
  double peak;     ///< floating-point operations a second that the target can do at most
};

/// Adds "GFLOP/s" and "of_peak", the share of the fma peak, of a call of so many operations. A
/// multiply-add is two operations.
void ReportOperations(double operations, const Loop& loop, benchmark::UserCounters* counters);

/// Adds "fma_each": how many multiply-adds the core could have done in the time that each of
/// `elements` took. A yardstick for what is no multiply-add itself.
void ReportElements(double elements, const Loop& loop, benchmark::UserCounters* counters);

/// What one benchmark does.
class Work {
 public:
  virtual ~Work() = default;

  /// Does it once and looks at the result; says what is wrong, or "".
  virtual std::string Check() = 0;

  /// What is timed.
  virtual void Run() = 0;

  virtual void Report(const Loop& loop, benchmark::UserCounters* counters) const = 0;

  /// Shown beside the counters; "hash=" with 16 hex digits lets stored runs be compared safely.
  virtual std::string Label() const { return ""; }
};

/// Registers a benchmark that times the work which `make` makes, on `threads` threads. Nothing is
/// made before the benchmark runs, and it is freed when another one does.
void RegisterWork(const std::string& name, const MicroTarget& target, int threads,
                  std::function<std::unique_ptr<Work>()> make);

/// Whether a check has failed so far.
bool AnyWorkWrong();

/// The label of an output.
std::string HashLabel(uint64_t hash);

// The groups of benchmarks, each in a file of its name.
void RegisterAttention(const MicroTarget& target);
void RegisterTiles(const MicroTarget& target);
void RegisterParts(const MicroTarget& target);
void RegisterPlans(const MicroTarget& target);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_MICRO_MICRO_H_
