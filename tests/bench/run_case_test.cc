// A whole line of a benchmark on tiny problems.
#include "bench/run_case.h"

#include "gtest/gtest.h"

namespace skipattn::bench {
namespace {

CaseSpec SmallSpec(const std::string& name, std::vector<int64_t> lengths) {
  CaseSpec spec;
  spec.name = name;
  spec.problem.batch = 2;
  spec.problem.heads = 2;
  spec.problem.kv_heads = 1;
  spec.problem.q_len = spec.problem.k_len = 40;
  spec.problem.dim = 16;
  spec.problem.v_dim = 8;
  spec.lengths = std::move(lengths);
  spec.window = 5;
  return spec;
}

Record RunSmall(const CaseSpec& spec, const AttentionOptions& given = {},
                Layout layout = Layout::kBhtd) {
  AttentionOptions options = given;
  options.threads = 1;
  MeasureOptions measure;
  measure.repeat = 1;
  measure.min_seconds = 0;
  const Result<Case> c = MakeCase(spec);
  EXPECT_TRUE(c.ok()) << c.status().message();
  Result<Record> record =
      RunCase(*c, RandomInputs(spec.problem, layout, 3), layout, options, measure);
  EXPECT_TRUE(record.ok()) << record.status().message();
  return record.ok() ? *record : Record();
}

Record RunSmall(const std::string& name, std::vector<int64_t> lengths,
                const AttentionOptions& given = {}, Layout layout = Layout::kBhtd) {
  return RunSmall(SmallSpec(name, std::move(lengths)), given, layout);
}

TEST(RunCase, EveryCaseIsRight) {
  for (const std::string& name : CaseNames()) {
    if (name == "terms") continue;
    for (Layout layout : {Layout::kBhtd, Layout::kBthd}) {
      const Record record = RunSmall(name, {40, 13}, {}, layout);
      EXPECT_TRUE(record.Right()) << name << ", first at " << record.checked.first_wrong;
      EXPECT_EQ(record.checked.rows, 2 * 2 * 40) << name;
      EXPECT_GT(record.LiveGflops(), 0) << name;
      EXPECT_GT(record.peak_gflops, 0) << name;
    }
  }
}

TEST(RunCase, EveryFormHasTheSameBits) {
  CaseSpec spec = SmallSpec("documents", {40, 13});
  spec.causal = true;
  AttentionOptions options;
  options.key_origin = {0};  // an array cannot tell where a row's document begins
  const Record terms = RunSmall(spec, options);
  for (MaskForm form : {MaskForm::kDense, MaskForm::kBias}) {
    spec.form = form;
    const Record record = RunSmall(spec, options);
    EXPECT_TRUE(record.Right()) << record.checked.first_wrong;
    EXPECT_EQ(record.hash, terms.hash);
    EXPECT_EQ(record.stats.live_pairs, terms.stats.live_pairs);
  }
}

TEST(RunCase, EveryTermIsRightAndChangesTheResult) {
  const uint64_t plain = RunSmall("cross", {}).hash;
  for (const std::string& term : TermNames()) {
    CaseSpec spec = SmallSpec("terms", {});
    spec.term = term;
    const Record record = RunSmall(spec);
    EXPECT_TRUE(record.Right()) << term << ", first at " << record.checked.first_wrong;
    EXPECT_NE(record.hash, plain) << term;
  }
}

TEST(RunCase, CountsLivePairsOnly) {
  const Record record = RunSmall("padding", {40, 20});
  EXPECT_EQ(record.stats.live_pairs, 2 * (40 * 40 + 20 * 20));
  EXPECT_EQ(record.stats.dense_pairs, 2 * 2 * 40 * 40);
  EXPECT_DOUBLE_EQ(record.LiveShare(), 0.625);
  EXPECT_DOUBLE_EQ(record.IdealSpeedup(), 1.6);
  EXPECT_EQ(record.width, 24);
}

TEST(RunCase, HashIsTheSameForTargetsAndLayouts) {
  const uint64_t hash = RunSmall("causal", {40, 13}).hash;
  EXPECT_EQ(RunSmall("causal", {40, 13}, {}, Layout::kBthd).hash, hash);
  for (const TargetInfo& target : CompiledTargets()) {
    if (!target.supported || !target.exact) continue;
    AttentionOptions options;
    options.target = target.name;
    const Record record = RunSmall("causal", {40, 13}, options);
    EXPECT_EQ(record.hash, hash) << target.name;
    EXPECT_EQ(record.stats.target, target.name);
  }
}

TEST(RunCase, KeptEmptyRowsStayUnwritten) {
  AttentionOptions options;
  options.empty_rows = EmptyRows::kKeep;
  EXPECT_TRUE(RunSmall("padding", {40, 0}, options).Right());
}

TEST(RunCase, DecodeIsSetBesideReading) {
  const Record record = RunSmall("decode", {40, 13});
  EXPECT_EQ(record.bytes, (40 + 13) * (16 + 8) * 4);
  EXPECT_GT(record.ReadGbytes(), 0);
  EXPECT_GT(record.ReadShare(), 0);
  EXPECT_EQ(RunSmall("cross", {40, 13}).bytes, 0);
}

TEST(RunCase, NothingLive) {
  const Record record = RunSmall("padding", {0, 0});
  EXPECT_TRUE(record.Right());
  EXPECT_EQ(record.LiveShare(), 0);
  EXPECT_EQ(record.IdealSpeedup(), 0);
}

TEST(Record, WrongBitsCountWhereTheTargetHasAnFma) {
  Record record;
  record.checked.bits_equal = false;
  EXPECT_TRUE(record.Right());
  record.exact_target = true;
  EXPECT_FALSE(record.Right());
  record.checked.bits_equal = true;
  record.checked.bound_ok = false;
  EXPECT_FALSE(record.Right());
}

}  // namespace
}  // namespace skipattn::bench
