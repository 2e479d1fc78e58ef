// Rounds of samples, and the fma peak and reading on several threads.
#include "bench/measure.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "kernels/fma_peak.h"
#include "kernels/read_sum.h"
#include "runtime/parallel.h"

namespace skipattn::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kMinSampleMs = 2;  // so that a scheduler tick of some us is lost in it
constexpr int kMaxCalls = 1000;

double MsSince(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

double MsPerCall(const std::function<void()>& run, int calls) {
  const Clock::time_point start = Clock::now();
  for (int n = 0; n < calls; ++n) run();
  return MsSince(start) / calls;
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::vector<Timing> MeasureInterleaved(const std::vector<std::function<void()>>& runs,
                                       const MeasureOptions& options) {
  std::vector<int> calls;
  for (const auto& run : runs) {
    run();  // first touch of memory, threads started, scratch allocated
    const double ms = std::max(MsPerCall(run, 1), kMinSampleMs / kMaxCalls);
    calls.push_back(static_cast<int>(std::max(1.0, kMinSampleMs / ms)));
  }
  std::vector<std::vector<double>> samples(runs.size());
  const Clock::time_point start = Clock::now();
  for (int round = 0;
       round < std::max(options.repeat, 1) || MsSince(start) < 1e3 * options.min_seconds; ++round) {
    for (size_t n = 0; n < runs.size(); ++n) {
      runs[n]();  // so that the caches hold what a loop of it leaves there, not the last one's data
      samples[n].push_back(MsPerCall(runs[n], calls[n]));
    }
  }
  std::vector<Timing> timings;
  for (const auto& of_run : samples) {
    timings.push_back({Median(of_run), *std::min_element(of_run.begin(), of_run.end())});
  }
  return timings;
}

void ReadOnThreads(int64_t target, int threads, const std::vector<Floats>& stretches) {
  struct Job {
    int64_t target;
    size_t threads;
    const std::vector<Floats>& stretches;
    std::vector<float> sums;  // kept, so that nobody finds the reading needless
  } job{target, static_cast<size_t>(threads), stretches, std::vector<float>(threads, 0.f)};
  internal::RunWorkers(
      threads, ParallelFor(),
      [](void* argument, int worker) {
        Job& shared = *static_cast<Job*>(argument);
        const size_t part = static_cast<size_t>(worker);
        for (const Floats& one : shared.stretches) {
          const size_t begin = one.count * part / shared.threads;
          const size_t end = one.count * (part + 1) / shared.threads;
          shared.sums[part] += internal::ReadSum(shared.target, one.begin + begin, end - begin);
        }
      },
      &job);
}

double FmaPeakOfThreads(int64_t target, int threads, double seconds) {
  struct Job {
    int64_t target;
    double seconds;
    std::vector<double> gflops;
  } job{target, seconds, std::vector<double>(threads, 0.)};
  // On the library's own threads: those wait for work by spinning, and would compete with others.
  internal::RunWorkers(
      threads, ParallelFor(),
      [](void* argument, int worker) {
        Job& shared = *static_cast<Job*>(argument);
        shared.gflops[worker] = internal::FmaPeakGflops(shared.target, shared.seconds);
      },
      &job);
  return std::accumulate(job.gflops.begin(), job.gflops.end(), 0.);
}

}  // namespace skipattn::bench
