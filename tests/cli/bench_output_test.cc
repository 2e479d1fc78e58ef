// What `skipattn bench` prints and answers, from made-up records.
#include "cli/bench_output.h"

#include <nlohmann/json.hpp>
#include <string>

#include "gtest/gtest.h"

namespace skipattn::cli {
namespace {

BenchLine LineOf(const bench::Case& c) {
  bench::Record record;
  record.stats.live_pairs = 25;
  record.stats.dense_pairs = 100;
  record.stats.target = "AVX2";
  record.width = 128;
  record.threads = 2;
  record.run = {2, 1};
  record.plan_ms = 1;
  record.dense = {6, 5};
  record.peak_gflops = 1;
  record.exact_target = true;
  record.hash = 0xAB;
  return {c, 0.5, "bhtd", "zero", 1, record};
}

bench::Case CaseOf() {
  bench::Case c;
  c.spec.name = "padding";
  return c;
}

// What `add` prints when its line is added and the output ended.
struct Printed {
  std::string out, err;
  bool right = false;
};

Printed Print(bool json, const BenchLine& line) {
  Printed printed;
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  BenchOutput output(json, 1);
  output.Add(line);
  printed.right = output.End();
  printed.out = ::testing::internal::GetCapturedStdout();
  printed.err = ::testing::internal::GetCapturedStderr();
  return printed;
}

TEST(BenchOutput, JsonIsDerivedFromTheRecord) {
  const bench::Case c = CaseOf();
  const Printed printed = Print(true, LineOf(c));
  EXPECT_TRUE(printed.right);
  EXPECT_EQ(printed.err, "");
  const auto json = nlohmann::json::parse(printed.out);
  EXPECT_EQ(json["live_share"], 0.25);
  EXPECT_EQ(json["speedup"], 3);
  EXPECT_EQ(json["ideal_speedup"], 4);
  EXPECT_DOUBLE_EQ(json["over_ideal"], 4.0 / 3);
  EXPECT_DOUBLE_EQ(json["over_ideal_with_plan"], 2.0);
  EXPECT_EQ(json["form"], "terms");
  EXPECT_FALSE(json.contains("term"));
  EXPECT_DOUBLE_EQ(json["live_gflops"], 2.0 * 25 * 128 / 2e-3 * 1e-9);
  EXPECT_EQ(json["hash"], "00000000000000ab");
}

TEST(BenchOutput, TermsHaveTheirCost) {
  bench::Case c = CaseOf();
  c.spec.name = "terms";
  c.spec.term = "softcap";
  BenchLine line = LineOf(c);
  line.record.stats.live_pairs = 100;
  line.record.run.median_ms = 7.5;
  EXPECT_EQ(nlohmann::json::parse(Print(true, line).out)["term"], "softcap");
  const Printed printed = Print(false, line);
  for (const char* word : {"softcap", "cost", "25.0%", "7.500", "6.000"}) {
    EXPECT_NE(printed.out.find(word), std::string::npos) << word << "\n" << printed.out;
  }
}

TEST(BenchOutput, WrongBitsAreReported) {
  const bench::Case c = CaseOf();
  BenchLine line = LineOf(c);
  line.record.checked.bits_equal = false;
  line.record.checked.first_wrong = "b 0 h 1 i 2";
  for (bool json : {false, true}) {
    const Printed printed = Print(json, line);
    EXPECT_FALSE(printed.right);
    EXPECT_NE(printed.err.find("bits differ"), std::string::npos) << printed.err;
    EXPECT_NE(printed.err.find("b 0 h 1 i 2"), std::string::npos) << printed.err;
    EXPECT_NE(printed.out.find(json ? "\"bits_equal\":false" : "differ"), std::string::npos);
  }
  line.record.exact_target = false;
  EXPECT_TRUE(Print(true, line).right);
}

TEST(BenchOutput, ErrorsBeyondTheBoundAreReported) {
  const bench::Case c = CaseOf();
  BenchLine line = LineOf(c);
  line.record.exact_target = false;
  line.record.checked.bound_ok = false;
  const Printed printed = Print(true, line);
  EXPECT_FALSE(printed.right);
  EXPECT_NE(printed.err.find("error beyond its bound"), std::string::npos) << printed.err;
}

}  // namespace
}  // namespace skipattn::cli
