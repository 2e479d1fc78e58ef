// Verifying: right outputs pass, and every kind of wrong one is found.
#include "bench/verify.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "bench/data.h"
#include "gtest/gtest.h"

namespace skipattn::bench {
namespace {

constexpr float kUnwritten = -12345.f;

CaseSpec SmallSpec() {
  CaseSpec spec;
  spec.name = "padding";
  spec.problem.batch = 2;
  spec.problem.heads = 4;
  spec.problem.kv_heads = 2;
  spec.problem.q_len = spec.problem.k_len = 9;
  spec.problem.dim = 8;
  spec.problem.v_dim = 5;
  spec.lengths = {9, 4};
  return spec;
}

// A case, its inputs, and the output that the reference gives.
struct Solved {
  Case c;
  Inputs inputs;
  Array out;
  AttentionOptions options;

  explicit Solved(EmptyRows empty_rows = EmptyRows::kZero, Layout layout = Layout::kBhtd)
      : c(std::move(MakeCase(SmallSpec())).value()),
        inputs(RandomInputs(c.spec.problem, layout, 7)),
        out(2, 4, 9, 5, layout) {
    options.empty_rows = empty_rows;
    out.Fill(kUnwritten);
    const Result<Reference> reference = Reference::Make(c.spec.problem, c.mask, options);
    EXPECT_TRUE(reference.ok()) << reference.status().message();
    for (const Row& row : RowsToCheck(c.spec)) {
      if (empty_rows == EmptyRows::kKeep && row.i >= c.spec.lengths[row.b]) continue;
      EXPECT_TRUE(reference
                      ->ExactRow(ArgsOf(inputs, out), row.b, row.h, row.i,
                                 out.Row(row.b, row.h, row.i), nullptr)
                      .ok());
    }
  }

  Verification Check() const {
    const Result<Verification> checked = Verify(c, options, ArgsOf(inputs, out), kUnwritten);
    EXPECT_TRUE(checked.ok()) << checked.status().message();
    return *checked;
  }
};

TEST(RowsToCheck, AreOfSeveralHeadsWhereQueriesAreFew) {
  CaseSpec spec;
  spec.name = "decode";
  spec.problem.batch = 1;
  spec.problem.heads = 32;
  spec.problem.kv_heads = 8;
  spec.problem.q_len = 1;
  spec.problem.k_len = 32768;
  spec.problem.dim = spec.problem.v_dim = 128;
  const std::vector<Row> rows = RowsToCheck(spec);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_NE(rows.front().h, rows.back().h);
}

TEST(RowsToCheck, AreAllOfASmallProblem) { EXPECT_EQ(RowsToCheck(SmallSpec()).size(), 2u * 4 * 9); }

TEST(RowsToCheck, CoverTheEdgesOfALargeProblem) {
  CaseSpec spec = SmallSpec();
  spec.problem.batch = 3;
  spec.problem.q_len = spec.problem.k_len = 2000;
  spec.problem.dim = spec.problem.v_dim = 64;
  spec.lengths = {2000, 100, 700};
  const std::vector<Row> rows = RowsToCheck(spec);
  EXPECT_LT(rows.size(), 200u);
  EXPECT_EQ(rows, RowsToCheck(spec));
  const auto has = [&](int64_t b, int64_t i) {
    return std::any_of(rows.begin(), rows.end(),
                       [&](const Row& row) { return row.b == b && row.i == i; });
  };
  for (int64_t b = 0; b < 3; ++b) {
    for (int64_t i : {int64_t{0}, spec.lengths[b] - 1, int64_t{127}, int64_t{128}, int64_t{1999}}) {
      EXPECT_TRUE(has(b, i)) << b << " " << i;
    }
  }
  EXPECT_TRUE(has(1, 100) && has(2, 700));
  for (int64_t h = 0; h < 4; ++h) {
    EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.h == h; }));
  }
}

TEST(RowsToCheck, AreNoneWithoutRows) {
  CaseSpec spec = SmallSpec();
  spec.problem.batch = 0;
  spec.lengths.clear();
  EXPECT_TRUE(RowsToCheck(spec).empty());
}

TEST(Verify, PassesTheReferenceItself) {
  for (Layout layout : {Layout::kBhtd, Layout::kBthd}) {
    for (EmptyRows empty_rows : {EmptyRows::kZero, EmptyRows::kKeep}) {
      const Verification checked = Solved(empty_rows, layout).Check();
      EXPECT_TRUE(checked.bits_equal);
      EXPECT_TRUE(checked.bound_ok);
      EXPECT_EQ(checked.rows, 2 * 4 * 9);
      EXPECT_GT(checked.max_abs_err, 0);
      EXPECT_LT(checked.max_abs_err, 1e-5);
      EXPECT_EQ(checked.first_wrong, "");
    }
  }
}

TEST(Verify, OneBitIsADifference) {
  const Solved solved;
  float* x = solved.out.Row(1, 3, 2) + 4;
  *x = std::nextafter(*x, 0.f);
  const Verification checked = solved.Check();
  EXPECT_FALSE(checked.bits_equal);
  EXPECT_TRUE(checked.bound_ok);
  EXPECT_EQ(checked.first_wrong, "b 1 h 3 i 2");
}

TEST(Verify, LargeErrorsAndNanBreakTheBound) {
  for (float wrong : {1e3f, std::numeric_limits<float>::quiet_NaN()}) {
    const Solved solved;
    solved.out.Row(0, 0, 0)[0] = wrong;
    EXPECT_FALSE(solved.Check().bound_ok);
  }
}

TEST(Verify, EmptyRowsMustBeZeroOrUntouched) {
  const Solved zeroed(EmptyRows::kZero);
  zeroed.out.Row(1, 0, 4)[0] = kUnwritten;
  EXPECT_FALSE(zeroed.Check().bits_equal);
  const Solved kept(EmptyRows::kKeep);
  kept.out.Row(1, 0, 4)[0] = 0;
  EXPECT_FALSE(kept.Check().bits_equal);
}

TEST(HashOf, DependsOnElementsNotOnLayout) {
  const Solved a, b(EmptyRows::kZero, Layout::kBthd);
  EXPECT_EQ(HashOf(a.out.view), HashOf(b.out.view));
  b.out.Row(1, 3, 8)[4] += 1;
  EXPECT_NE(HashOf(a.out.view), HashOf(b.out.view));
}

}  // namespace
}  // namespace skipattn::bench
