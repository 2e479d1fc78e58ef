// Measuring: rounds, turns and medians. What a time is stays untested.
#include "bench/measure.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "runtime/target_table.h"
#include "skipattn/targets.h"

namespace skipattn::bench {
namespace {

TEST(Median, OfOddEvenAndNothing) {
  EXPECT_EQ(Median({3, 1, 2}), 2);
  EXPECT_EQ(Median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(Median({}), 0);
}

TEST(MeasureInterleaved, TakesTurns) {
  std::string calls;
  const auto slow = [&](char name) {
    return [&calls, name] {
      // Long enough that a sample is one call.
      calls += name;
      const double peak = FmaPeakOfThreads(*internal::FindTarget(""), 1, 0.003);
      ASSERT_GT(peak, 0);
    };
  };
  MeasureOptions options;
  options.repeat = 3;
  options.min_seconds = 0;
  const std::vector<Timing> timings = MeasureInterleaved({slow('a'), slow('b')}, options);
  EXPECT_EQ(calls.substr(0, 4), "aabb");       // warm-up and the length of a call
  EXPECT_EQ(calls.substr(4), "aabbaabbaabb");  // each sample after a warm-up of its own
  ASSERT_EQ(timings.size(), 2u);
  EXPECT_GT(timings[0].min_ms, 0);
  EXPECT_LE(timings[0].min_ms, timings[0].median_ms);
}

TEST(MeasureInterleaved, ShortCallsAreRepeatedInASample) {
  int calls = 0;
  MeasureOptions options;
  options.repeat = 1;
  options.min_seconds = 0;
  const std::vector<Timing> timings = MeasureInterleaved({[&calls] { ++calls; }}, options);
  EXPECT_GT(calls, 10);
  EXPECT_LE(calls, 1003);
}

TEST(ReadOnThreads, TakesAnyStretchesAndThreads) {
  const std::vector<float> memory(1001, 1.0f);
  for (int threads : {1, 2, 7}) {
    ReadOnThreads(*internal::FindTarget(""), threads, {{memory.data(), 1001}, {memory.data(), 3}});
    ReadOnThreads(*internal::FindTarget(""), threads, {});
  }
}

TEST(FmaPeakOfThreads, IsPositiveForEveryTarget) {
  for (const TargetInfo& target : CompiledTargets()) {
    if (!target.supported) continue;
    const Result<int64_t> bit = internal::FindTarget(target.name);
    ASSERT_TRUE(bit.ok()) << bit.status().message();
    for (int threads : {1, 3}) EXPECT_GT(FmaPeakOfThreads(*bit, threads, 0.001), 0) << target.name;
  }
}

}  // namespace
}  // namespace skipattn::bench
