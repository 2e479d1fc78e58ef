// Reference::Row64: the operation in float64 and its bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/test_util.h"

namespace skipattn {
namespace {

using test::Inputs;
using test::MakeProblem;

constexpr float kInf = std::numeric_limits<float>::infinity();

Float64Row Row64(const Inputs& inputs, const Mask& mask = {},
                 const AttentionOptions& options = {}) {
  const Result<Reference> reference = Reference::Make(inputs.problem, mask, options);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  const Result<Float64Row> row = reference->Row64(inputs.Args(), 0, 0, 0);
  EXPECT_TRUE(row.ok()) << row.status().message();
  return *row;
}

TEST(Float64Test, WeightsByHand) {
  Inputs inputs(MakeProblem(1, 3, 1), 1);
  inputs.q.data = {2.0f};
  inputs.k.data = {0.0f, 0.5f, 1.0f};
  inputs.v.data = {1.0f, 10.0f, 100.0f};
  AttentionOptions options;
  options.scale = std::log(2.0);  // scores 0, ln 2, 2 ln 2: weights 1, 2, 4
  const Float64Row row = Row64(inputs, {}, options);
  EXPECT_NEAR(row.out[0], (1 + 20 + 400) / 7.0, 1e-13);
  EXPECT_NEAR(row.lse, std::log(7.0), 1e-14);
}

TEST(Float64Test, DefaultScaleIsOneBySqrtDim) {
  Inputs inputs(MakeProblem(1, 2, 4), 1);
  inputs.q.data = {1, 1, 1, 1};
  inputs.k.data = {0, 0, 0, 0, 1, 1, 1, 1};
  inputs.v.data = {0, 0, 0, 0, 1, 2, 3, 4};
  const Float64Row row = Row64(inputs);
  EXPECT_NEAR(row.lse, std::log(1 + std::exp(2.0)), 1e-14);
  EXPECT_NEAR(row.out[3], 4 * std::exp(2.0) / (1 + std::exp(2.0)), 1e-14);
}

TEST(Float64Test, BoundsFollowTheFormula) {
  Inputs inputs(MakeProblem(1, 2, 1), 1);
  inputs.q.data = {3.0f};
  inputs.k.data = {-5.0f, 2.0f};
  inputs.v.data = {4.0f, -8.0f};
  AttentionOptions options;
  options.scale = std::log(2.0);
  const Float64Row row = Row64(inputs, {}, options);
  const double eps = 0x1p-24, dim = 1, size = 15, n = 2, v = 8;
  EXPECT_NEAR(row.out_bound, eps * v * (64 + 2 * (dim + 2) * size + 2 * n + n / 64),
              1e-12 * row.out_bound);
  EXPECT_NEAR(row.lse_bound, 1e-5 * std::fabs(row.lse) + eps * (dim + 2) * size,
              1e-12 * row.lse_bound);
}

TEST(Float64Test, EmptyRowsAreZero) {
  Inputs inputs(MakeProblem(1, 2, 2), 1);
  inputs.q.data = {kInf, kInf};  // not read
  const std::vector<int64_t> none = {0};
  const Float64Row masked = Row64(inputs, mask::KeyLengths(none));
  EXPECT_EQ(masked.out, std::vector<double>(2, 0.0));
  EXPECT_EQ(masked.lse, -kInf);
  EXPECT_EQ(masked.out_bound, 0.0);

  inputs.k.data = {-1, -1, -2, -2};  // scores of -inf
  EXPECT_EQ(Row64(inputs).out, std::vector<double>(2, 0.0));
  EXPECT_EQ(Row64(inputs).lse, -kInf);
}

TEST(Float64Test, SoftcapAndSinkByHand) {
  Problem problem = MakeProblem(1, 2, 1);
  problem.sinks = true;
  Inputs inputs(problem, 1);
  inputs.q.data = {1.0f};
  inputs.k.data = {3.0f, -100.0f};
  inputs.v.data = {5.0f, 7.0f};
  inputs.sinks = {0.25f};
  AttentionOptions options;
  options.softcap = 2;
  const double a = std::exp(2 * std::tanh(1.5)), b = std::exp(2 * std::tanh(-50.0));
  const double sum = a + b + std::exp(0.25);
  const Float64Row row = Row64(inputs, {}, options);
  EXPECT_NEAR(row.out[0], (5 * a + 7 * b) / sum, 1e-13);
  EXPECT_NEAR(row.lse, std::log(sum), 1e-13);
}

TEST(Float64Test, BiasByHand) {
  Inputs inputs(MakeProblem(1, 2, 1), 1);
  inputs.q.data = {1.0f};
  inputs.k.data = {0.5f, -1.0f};
  inputs.v.data = {5.0f, 7.0f};
  inputs.bias = {-2.0f, 3.0f};
  AttentionOptions options;
  options.scale = 1;
  inputs.problem.bias = true;
  const Result<Reference> reference = Reference::Make(inputs.problem, {}, options);
  const Result<Float64Row> row = reference->Row64(inputs.Args(), 0, 0, 0);
  const double a = std::exp(-1.5), b = std::exp(2.0);
  EXPECT_NEAR(row->out[0], (5 * a + 7 * b) / (a + b), 1e-13);
  EXPECT_NEAR(row->lse, std::log(a + b), 1e-13);
  const double size = 4 * std::log2(std::exp(1.0)), eps = 0x1p-24;  // |q k| + |bias|
  EXPECT_NEAR(row->out_bound, eps * 7 * (64 + 2 * 3 * size + 4 + 2 / 64.0), 1e-12);
}

TEST(Float64Test, PoliciesForEmptyRows) {
  Inputs inputs(MakeProblem(1, 3, 1), 1);
  inputs.v.data = {1, 2, 6};
  const std::vector<int64_t> none = {0};
  AttentionOptions options;
  options.empty_rows = EmptyRows::kUniform;
  EXPECT_NEAR(Row64(inputs, mask::KeyLengths(none), options).out[0], 3, 1e-14);
  EXPECT_EQ(Row64(inputs, mask::KeyLengths(none), options).lse, -kInf);
  EXPECT_EQ(Row64(Inputs(MakeProblem(1, 0, 1), 1), {}, options).out[0], 0);
  options.empty_rows = EmptyRows::kNan;
  EXPECT_TRUE(std::isnan(Row64(inputs, mask::KeyLengths(none), options).out[0]));
}

TEST(Float64Test, NanAndInfinity) {
  const auto lse_with = [](float key) {
    Inputs inputs(MakeProblem(1, 3, 1), 1);
    inputs.q.data = {1.0f};
    inputs.k.data = {1.0f, key, 2.0f};
    return Row64(inputs);
  };
  for (const float key : {kInf, std::nanf("")}) {
    EXPECT_TRUE(std::isnan(lse_with(key).lse));
    EXPECT_TRUE(std::isnan(lse_with(key).out[0]));
  }
  EXPECT_NEAR(lse_with(-kInf).lse, std::log(std::exp(1.0) + std::exp(2.0)), 1e-14);
}

TEST(Float64Test, ScoresBeyondTheRangeOfF32AreInfinite) {
  Inputs inputs(MakeProblem(1, 2, 2), 1);
  inputs.q.data = {1e25f, 1.0f};
  inputs.k.data = {1e25f, 0.0f, 0.0f, 1.0f};
  EXPECT_TRUE(std::isnan(Row64(inputs).lse));
  inputs.k.data[0] = -1e25f;
  EXPECT_NEAR(Row64(inputs).lse, 1 / std::sqrt(2.0), 1e-14);
}

TEST(Float64Test, NanInOneColumnOfVStaysThere) {
  Inputs inputs(MakeProblem(1, 2, 3), 1);
  inputs.v.At(0, 0, 1, 2) = std::nanf("");
  const Float64Row row = Row64(inputs);
  EXPECT_FALSE(std::isnan(row.out[0]) || std::isnan(row.out[1]) || std::isnan(row.lse));
  EXPECT_TRUE(std::isnan(row.out[2]));
  EXPECT_TRUE(std::isfinite(row.out_bound));
}

}  // namespace
}  // namespace skipattn
