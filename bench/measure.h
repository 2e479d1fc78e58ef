// Timing: several things in turns, so that whatever else the machine does meets all of them alike.
#ifndef SKIPATTN_BENCH_MEASURE_H_
#define SKIPATTN_BENCH_MEASURE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace skipattn::bench {

struct MeasureOptions {
  int repeat = 5;            ///< rounds at least
  double min_seconds = 0.5;  ///< length of the whole at least
};

struct Timing {
  double median_ms = 0;  ///< of one call
  double min_ms = 0;
};

/// The middle value, or the mean of both; 0 of nothing.
double Median(std::vector<double> values);

/// Calls each of `runs` to learn how long it takes, then in rounds. In every round each of them is
/// called once untimed, so that it meets the caches as a loop of it leaves them, and then as often
/// as makes a sample long beside the clock's steps.
std::vector<Timing> MeasureInterleaved(const std::vector<std::function<void()>>& runs,
                                       const MeasureOptions& options);

/// A stretch of memory.
struct Floats {
  const float* begin;
  size_t count;
};

/// Reads all of `stretches` with `threads` threads, each an equal part of every one.
void ReadOnThreads(int64_t target, int threads, const std::vector<Floats>& stretches);

/// The fma peak of `threads` threads together, in GFLOP/s, on the threads that a plan runs on.
/// `target` is a Highway target bit that this CPU supports.
double FmaPeakOfThreads(int64_t target, int threads, double seconds);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_MEASURE_H_
