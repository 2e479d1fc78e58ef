// The loop around a piece of work, and its counters.
#include "bench/micro/micro.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <utility>

#include "bench/measure.h"
#include "runtime/target_table.h"
#include "skipattn/targets.h"

namespace skipattn::bench {
namespace {

constexpr int kPeakSamples = 4;  // before the loop, and again after it
constexpr double kPeakSeconds = 0.003;

bool any_wrong = false;

// The work of the benchmark that ran last: Google Benchmark calls a benchmark several times, to
// find how often to repeat it and to repeat the measurement.
struct Current {
  std::string name;
  std::unique_ptr<Work> work;
  std::string wrong;
};

Current& CurrentOf(const std::string& name, const std::function<std::unique_ptr<Work>()>& make) {
  static Current current;
  if (current.name != name) {
    current = {};  // frees the last one's memory before there is more
    current.work = make();
    current.name = name;
    current.wrong = current.work->Check();
  }
  return current;
}

// The highest of several short samples: whoever else wants the core can only lower one.
double HighestPeak(const MicroTarget& target, int threads) {
  double gflops = 0;
  for (int n = 0; n < kPeakSamples; ++n) {
    gflops = std::max(gflops, FmaPeakOfThreads(target.bit, threads, kPeakSeconds));
  }
  return gflops;
}

// Of one thread the time that it ran, which leaves others on its core out as well.
double Seconds(int threads) {
  if (threads == 1) {
    timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  }
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

// The peak is taken on both sides of the loop, as clocks change.
void TimeWork(const MicroTarget& target, int threads, Work& work, benchmark::State& state) {
  const double before = HighestPeak(target, threads);
  const double start = Seconds(threads);
  for (auto _ : state) work.Run();
  const double seconds = Seconds(threads) - start;
  const double gflops = std::max(before, HighestPeak(target, threads));
  const Loop loop = {seconds / static_cast<double>(state.iterations()), 1e9 * gflops};
  work.Report(loop, &state.counters);
  state.SetLabel(work.Label());
}

}  // namespace

std::vector<MicroTarget> MicroTargets() {
  std::vector<MicroTarget> targets;
  for (const TargetInfo& info : CompiledTargets()) {
    if (!info.supported) continue;
    targets.push_back({info.name, *internal::FindTarget(info.name), info.exact});
  }
  return targets;
}

void ReportOperations(double operations, const Loop& loop, benchmark::UserCounters* counters) {
  const double rate = operations / loop.seconds;
  (*counters)["GFLOP/s"] = rate * 1e-9;
  (*counters)["of_peak"] = rate / loop.peak;
}

void ReportElements(double elements, const Loop& loop, benchmark::UserCounters* counters) {
  (*counters)["fma_each"] = loop.seconds * loop.peak / 2 / elements;
}

void RegisterWork(const std::string& name, const MicroTarget& target, int threads,
                  std::function<std::unique_ptr<Work>()> make) {
  auto* registered = benchmark::RegisterBenchmark(
      name.c_str(), [name, target, threads, make = std::move(make)](benchmark::State& state) {
        Current& current = CurrentOf(name, make);
        if (!current.wrong.empty()) {
          any_wrong = true;
          state.SkipWithError(current.wrong.c_str());
          return;
        }
        TimeWork(target, threads, *current.work, state);
      });
  // CPU time would count the calling thread alone.
  if (threads > 1) registered->UseRealTime();
}

bool AnyWorkWrong() { return any_wrong; }

std::string HashLabel(uint64_t hash) {
  char text[32];
  std::snprintf(text, sizeof(text), "hash=%016" PRIx64, hash);
  return text;
}

}  // namespace skipattn::bench
