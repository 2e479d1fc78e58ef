// The exact arithmetic, through Reference::ExactRow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "reference/impl.h"
#include "tests/test_util.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace skipattn {
namespace {

using test::Inputs;
using test::MakeProblem;
using test::Row;
using test::SameBits;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint32_t kNanBits = 0x7fc00000u;
const float kNegativeNan = -std::nanf("12");  // neither the sign nor the payload may show

Row RowOf(const Inputs& inputs, const Mask& mask = {}, const AttentionOptions& options = {}) {
  const Result<Reference> reference = Reference::Make(inputs.problem, mask, options);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  return test::ExactRow(*reference, inputs, 0, 0, 0);
}

// One query whose x_j, the scores in log2 units, are `scores` to the bit: dim = 1, q' = c = 1.
Inputs WithScores(const std::vector<float>& scores, const std::vector<float>& values) {
  Inputs inputs(MakeProblem(1, static_cast<int64_t>(scores.size()), 1), 0);
  inputs.q.data = {1.0f};
  inputs.k.data = scores;
  inputs.v.data = values;
  return inputs;
}

AttentionOptions UnitScale(std::vector<int64_t> key_origin = {}) {
  AttentionOptions options;
  options.scale = std::log(2.0);
  options.key_origin = std::move(key_origin);
  return options;
}

Row OfScores(const std::vector<float>& scores, const std::vector<float>& values) {
  return RowOf(WithScores(scores, values), {}, UnitScale());
}

// --------------------------------------------------------------------------------- values by hand

TEST(ExactTest, OneKeyIsItsValue) {
  for (const float score : {0.0f, 0.25f, -3.5f, 100.0f}) {
    const Row row = OfScores({score}, {0x1.234568p5f});
    EXPECT_NEAR(row.out[0], 0x1.234568p5f, 0x1p-18);
    EXPECT_NEAR(row.lse, score * std::log(2.0), 2e-7 * std::max(1.0f, std::fabs(score)));
  }
  EXPECT_TRUE(SameBits(OfScores({0.0f}, {0.1f}), Row{{0.1f}, 0.0f}));
}

TEST(ExactTest, WholeScoresWeighPowersOfTwo) {
  const Row row = OfScores({0, -1, 1, -2}, {1, 2, 4, 8});
  // Relative to 2^1: weights 1/2, 1/4, 1, 1/8; l = 15/8, o = 1/2 + 1/2 + 4 + 1 = 6.
  EXPECT_TRUE(SameBits(row.out[0], 6.0f * (1.0f / 1.875f)));
  EXPECT_NEAR(row.lse, std::log(3.75), 1e-7);
}

TEST(ExactTest, WeightsOfFractions) {
  // x = 1/4, so m = 1 and p = P(1/4) / 2; the other key has x = -1/2, whose rint is 0: P(-1/2) / 2.
  const Row row = OfScores({0.25f, -0.5f}, {1, 0});
  EXPECT_NEAR(row.out[0], std::exp2(0.25) / (std::exp2(0.25) + std::exp2(-0.5)), 1e-7);
  EXPECT_NEAR(row.lse, std::log(std::exp2(0.25) + std::exp2(-0.5)), 1e-7);
}

TEST(ExactTest, WeightsBelowTheLeastExponentAreZero) {
  const float big = 0x1p126f;
  EXPECT_EQ(OfScores({0, -125}, {0, big}).out[0], 2.0f);
  EXPECT_EQ(OfScores({0, -126}, {0, big}).out[0], 0.0f);
  EXPECT_EQ(OfScores({0, -125.5f}, {0, big}).out[0], 0.0f);  // halves round to even
  EXPECT_NEAR(OfScores({0, -125.25f}, {0, big}).out[0], 2 * std::exp2(-0.25), 1e-6);
}

TEST(ExactTest, ChunksFoldInOrder) {
  std::vector<float> scores(129, -kInf), values(129, 0.0f);
  scores[0] = 0;
  values[0] = 1;
  scores[128] = 2;
  values[128] = 3;
  Row row = OfScores(scores, values);  // l = 1 * 1/4 + 1, o = 1/4 + 3
  EXPECT_TRUE(SameBits(row.out[0], 3.25f * (1.0f / 1.25f)));
  scores[128] = -2;
  row = OfScores(scores, values);  // l = 1 + 1/4, o = 1 + 3/4
  EXPECT_TRUE(SameBits(row.out[0], 1.75f * (1.0f / 1.25f)));
  scores[128] = -126;
  EXPECT_EQ(OfScores(scores, values).out[0], 1.0f);
}

// Where a boundary falls decides the rounding of l: 1 + 2^-24 + 2^-24 in one chunk is 1, while
// 2^-24 + 2^-24 in a chunk of its own makes 1 + 2^-23.
TEST(ExactTest, TheOriginPlacesTheBoundaries) {
  const Inputs inputs = WithScores({0, -24, -24}, {0, 1, 1});
  const auto out = [&](int64_t origin) { return RowOf(inputs, {}, UnitScale({origin})).out[0]; };
  EXPECT_TRUE(SameBits(out(0), 0x1p-23f));
  EXPECT_TRUE(SameBits(out(1), 0x1p-23f * (1.0f / (1.0f + 0x1p-23f))));
  EXPECT_FALSE(SameBits(out(0), out(1)));
  for (const int64_t turns : {-3, 1, 40}) EXPECT_TRUE(SameBits(out(1 + 128 * turns), out(1)));
}

TEST(ExactTest, EqualKeysGiveTheMeanAndLogN) {
  for (const int64_t n : {1, 2, 3, 100, 128, 129, 1000, 4096}) {
    Inputs inputs(MakeProblem(1, n, 3), 4);
    inputs.q.data = {0, 0, 0};
    std::fill(inputs.v.data.begin(), inputs.v.data.end(), 0.7f);
    const Row row = RowOf(inputs);
    EXPECT_NEAR(row.out[2], 0.7, 2e-6);
    EXPECT_NEAR(row.lse, std::log(static_cast<double>(n)), 1e-6);
  }
}

TEST(ExactTest, SignsOfZero) {
  EXPECT_TRUE(SameBits(OfScores({0, 0}, {-0.0f, -0.0f}).out[0], 0.0f));
  EXPECT_TRUE(SameBits(OfScores({-0.25f, -0.5f}, {-0.0f, 0.0f}).out[0], 0.0f));
  EXPECT_TRUE(SameBits(OfScores({-0.0f}, {1}).lse, 0.0f));
  // The fold halves -2^-149, which rounds to -0; the +0 of the last step makes it +0.
  std::vector<float> scores(129, -kInf), values(129, 0.0f);
  scores[0] = 0;
  values[0] = -0x1p-149f;
  scores[128] = 1;
  EXPECT_TRUE(SameBits(OfScores(scores, values).out[0], 0.0f));
}

// ----------------------------------------------------------------------------- softcap and sinks

TEST(ExactTest, SoftcapHoldsScores) {
  AttentionOptions options = UnitScale();
  options.softcap = 30;
  const double far = 20000 * std::log(2.0);  // in natural units
  const Row row = RowOf(WithScores({20000, -20000, 20000, 0}, {1, 10, 100, 1000}), {}, options);
  EXPECT_NEAR(row.lse, 30 * std::tanh(far / 30) + std::log(2.0), 1e-5);
  EXPECT_NEAR(row.out[0], 50.5, 1e-4);
  for (const float score : {-3.5f, -0.25f, 0.0f, 0.25f, 100.0f}) {
    const double natural = score * std::log(2.0);
    EXPECT_NEAR(RowOf(WithScores({score}, {1}), {}, options).lse, 30 * std::tanh(natural / 30),
                1e-5);
  }
  EXPECT_TRUE(SameBits(RowOf(WithScores({kInf, -kInf}, {2, 3}), {}, options).out[0], 2.0f));
  EXPECT_EQ(test::Bits(RowOf(WithScores({kNegativeNan}, {2}), {}, options).lse), kNanBits);
}

Row WithSink(float sink, const std::vector<float>& scores, const std::vector<float>& values,
             EmptyRows empty_rows = EmptyRows::kZero) {
  Inputs inputs = WithScores(scores, values);
  inputs.problem.sinks = true;
  inputs.sinks = {sink};
  AttentionOptions options = UnitScale();
  options.empty_rows = empty_rows;
  return RowOf(inputs, {}, options);
}

TEST(ExactTest, ASinkIsOneMoreWeight) {
  // Relative to 2^0: the key weighs 1, the sink 1.
  Row row = WithSink(0, {0}, {3});
  EXPECT_TRUE(SameBits(row, Row{{1.5f}, 0x1.62e43p-1f}));
  row = WithSink(static_cast<float>(std::log(6.0)), {0, 0}, {4, 12});
  EXPECT_NEAR(row.out[0], 2.0, 1e-6);
  EXPECT_NEAR(row.lse, std::log(8.0), 1e-6);
  EXPECT_EQ(WithSink(1e30f, {0}, {3}).out[0], 0.0f);
  EXPECT_FLOAT_EQ(WithSink(1e30f, {0}, {3}).lse, 1e30f);
  const Row without = OfScores({1, 2}, {3, 4});
  EXPECT_TRUE(SameBits(WithSink(-kInf, {1, 2}, {3, 4}), without));
  EXPECT_TRUE(SameBits(WithSink(-std::numeric_limits<float>::max(), {1, 2}, {3, 4}), without));
  EXPECT_EQ(test::Bits(WithSink(0, {kInf}, {1}).lse), kNanBits);
}

// The exponents x_j of one row, from its scores and a bias in natural units.
Row WithBias(const std::vector<float>& scores, const std::vector<float>& bias,
             const std::vector<float>& values, double softcap = 0) {
  Inputs inputs = WithScores(scores, values);
  inputs.bias = bias;
  AttentionOptions options = UnitScale();
  options.softcap = softcap;
  const Bias dense = bias::Dense(ConstTensor(bias.data(), {1, inputs.problem.k_len}), "qk");
  const Result<Reference> reference = Reference::Make(inputs.problem, {}, dense, options);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  inputs.problem.bias = true;
  return test::ExactRow(*reference, inputs, 0, 0, 0);
}

TEST(ExactTest, BiasIsAddedAfterTheCap) {
  const Row row = WithBias({1000, -1000}, {0, 5}, {1, 2}, 1);
  const double a = std::exp(1.0), b = std::exp(-1.0 + 5);
  EXPECT_NEAR(row.out[0], (a + 2 * b) / (a + b), 1e-6);
  EXPECT_NEAR(row.lse, std::log(a + b), 1e-6);
}

TEST(ExactTest, BiasesThatMask) {
  const Row without = OfScores({1, 2}, {3, 4});
  // -inf masks whatever the score and the value are.
  EXPECT_TRUE(SameBits(WithBias({1, kNegativeNan, 2}, {0, -kInf, 0}, {3, kInf, 4}), without));
  const float lowest = std::numeric_limits<float>::lowest();
  for (const float soft : {lowest, -1e30f}) {
    EXPECT_TRUE(SameBits(WithBias({kInf, 1, 2}, {soft, 0, 0}, {kNegativeNan, 3, 4}), without));
    EXPECT_NEAR(WithBias({1, 2}, {soft, soft}, {3, 5}).out[0], 4, 1e-6) << "nothing else there";
  }
  EXPECT_EQ(WithBias({1, 2}, {-kInf, -kInf}, {3, 4}).lse, -kInf);
  for (const float bad : {kInf, kNegativeNan}) {
    EXPECT_EQ(test::Bits(WithBias({1, 2}, {bad, 0}, {3, 4}).lse), kNanBits);
  }
}

TEST(ExactTest, HugeBiasesStayFinite) {
  const Row row = WithBias({0, 0}, {3e38f, 3.4e38f}, {3, 5});  // both clamped to FLT_MAX
  EXPECT_NEAR(row.out[0], 4, 1e-6);
  EXPECT_TRUE(std::isfinite(row.lse));
}

TEST(ExactTest, AlibiAndRelative) {
  Inputs inputs = WithScores({0, 0, 0, 0}, {1, 10, 100, 1000});
  const auto row = [&](const Bias& bias) {
    return test::ExactRow(*Reference::Make(inputs.problem, {}, bias, UnitScale()), inputs, 0, 0, 0);
  };
  // With slope ln 2 each step away from key 1 halves the weight.
  const std::vector<float> slopes = {static_cast<float>(std::log(2.0))};
  EXPECT_NEAR(row(bias::Alibi(slopes, 1)).out[0], (0.5 + 10 + 50 + 250) / 2.25, 1e-4);
  // Indices j - i - offset + 1 of three numbers, clamped: 0, 0, 1, 2 for offset 2.
  const std::vector<float> table = {-kInf, 0, static_cast<float>(std::log(3.0))};
  EXPECT_NEAR(row(bias::Relative(ConstTensor(table.data(), {1, 3}), 2)).out[0], 3100 / 4.0, 1e-3);
}

TEST(ExactTest, WithASinkNoRowIsEmpty) {
  for (const EmptyRows policy :
       {EmptyRows::kZero, EmptyRows::kKeep, EmptyRows::kUniform, EmptyRows::kNan}) {
    const Row row = WithSink(0.5f, {-kInf}, {kInf}, policy);
    EXPECT_TRUE(SameBits(row.out[0], 0.0f));
    EXPECT_NEAR(row.lse, 0.5, 1e-7);
    EXPECT_EQ(WithSink(-kInf, {-kInf}, {kInf}, policy).lse, -kInf);
  }
}

TEST(ExactTest, PoliciesForEmptyRows) {
  const auto out = [](EmptyRows policy, const std::vector<float>& values) {
    AttentionOptions options = UnitScale();
    options.empty_rows = policy;
    const Row row =
        RowOf(WithScores(std::vector<float>(values.size(), -kInf), values), {}, options);
    EXPECT_EQ(row.lse, -kInf);
    return row.out[0];
  };
  EXPECT_EQ(out(EmptyRows::kZero, {1, 2}), 0.0f);
  EXPECT_EQ(out(EmptyRows::kKeep, {1, 2}), -1.0f);  // as test::ExactRow has filled it
  EXPECT_EQ(test::Bits(out(EmptyRows::kNan, {1, 2})), kNanBits);
  EXPECT_EQ(out(EmptyRows::kUniform, {1, 2, 6, 7}), 4.0f);
  EXPECT_EQ(test::Bits(out(EmptyRows::kUniform, {1, kNegativeNan})), kNanBits);
  // Two chunks: 2^24 + 1 + ... in one sum would lose all the ones.
  std::vector<float> values(256, 1.0f);
  values[0] = 0x1p24f;
  std::fill(values.begin() + 1, values.begin() + 128, 0.0f);
  EXPECT_EQ(out(EmptyRows::kUniform, values), (0x1p24f + 128) / 256);
}

// -------------------------------------------------------------------------- logarithm and tangent

// The error in units of the last place of the true value.
double Log2Error(float l) {
  const double exact = std::log2(static_cast<double>(l));
  const double error = std::fabs(internal::Log2(l) - exact);
  return error == 0 ? 0 : std::ldexp(error, 23 - std::ilogb(exact));
}

TEST(Log2Test, IsWithinTheStatedError) {
  double worst = 0;
  for (float l = 0.25f; l < 4.0f; l = std::nextafter(l, kInf))
    worst = std::max(worst, Log2Error(l));
  EXPECT_LE(worst, 1.76);
  EXPECT_GT(worst, 1.7);
  for (float l = 4.0f; l < 0x1p40f; l *= 1.00001f) worst = std::max(worst, Log2Error(l));
  EXPECT_LE(worst, 1.76);
}

TEST(Log2Test, IsExactForPowersOfTwo) {
  for (int e = -126; e < 128; ++e) {
    EXPECT_TRUE(SameBits(internal::Log2(std::ldexp(1.0f, e)), static_cast<float>(e)));
  }
}

TEST(TanhTest, IsWithinTheStatedError) {
  double worst = 0;
  uint32_t last = test::Bits(10.5f);
  for (uint32_t bits = test::Bits(0x1p-14f); bits < last; bits += 13) {
    float x;
    std::memcpy(&x, &bits, sizeof(x));
    const double exact = std::tanh(static_cast<double>(x));
    const double ulp = std::ldexp(1.0, std::ilogb(exact) - 23);
    worst = std::max(worst, std::fabs(internal::Tanh(x) - exact) / ulp);
  }
  EXPECT_LE(worst, 1.63);
  EXPECT_GT(worst, 1.5);
}

TEST(TanhTest, EdgesAndSigns) {
  EXPECT_EQ(internal::Tanh(0.0f), 0.0f);
  EXPECT_EQ(internal::Tanh(-0.0f), 0.0f);
  for (const float x : {0x1p-149f, 0x1.8p-127f, 1e-20f, 1e-4f}) {
    EXPECT_TRUE(SameBits(internal::Tanh(x), x));
    EXPECT_TRUE(SameBits(internal::Tanh(-x), -x));
  }
  for (const float x : {10.0f, 100.0f, 3e38f, kInf}) {
    EXPECT_EQ(internal::Tanh(x), 1.0f);
    EXPECT_EQ(internal::Tanh(-x), -1.0f);
  }
  EXPECT_TRUE(std::isnan(internal::Tanh(kNegativeNan)));
  for (float x = 0x1.3p-9f; x < 11; x += 0x1.3p-9f) {
    EXPECT_TRUE(SameBits(internal::Tanh(-x), -internal::Tanh(x)));
  }
}

// ------------------------------------------------------------------------------------- hostile
// values

TEST(ExactTest, EmptyRows) {
  Inputs inputs = WithScores({1, 2}, {3, 4});
  const Row empty = {{0.0f}, -kInf};
  const std::vector<int64_t> none = {0};
  inputs.q.data = {kNegativeNan};  // not read
  EXPECT_TRUE(SameBits(RowOf(inputs, mask::KeyLengths(none)), empty));
  EXPECT_TRUE(SameBits(RowOf(Inputs(MakeProblem(1, 0, 1), 1)), empty));
  EXPECT_TRUE(SameBits(OfScores({-kInf, -kInf}, {kInf, kNegativeNan}), empty));
}

TEST(ExactTest, MaskedMemoryIsNotRead) {
  const Inputs clean(MakeProblem(1, 300, 5), 3);
  Inputs dirty = clean;
  std::vector<uint8_t> valid(300);
  for (int64_t j = 0; j < 300; ++j) {
    valid[static_cast<size_t>(j)] = j % 3 == 1;
    if (j % 3 == 1) continue;
    for (int64_t d = 0; d < 5; ++d) {
      dirty.k.At(0, 0, j, d) = j % 2 == 0 ? kInf : kNegativeNan;
      dirty.v.At(0, 0, j, d) = j % 2 == 0 ? kNegativeNan : -kInf;
    }
  }
  const Mask mask = mask::KeyValid(ConstTensor(valid.data(), DType::kBool, {1, 300}));
  EXPECT_TRUE(SameBits(RowOf(clean, mask), RowOf(dirty, mask)));
}

// NaN and +inf in any place, also where other chunks come before and after.
TEST(ExactTest, NanAndInfinityInAScoreMakeTheRowNan) {
  for (const float score : {kInf, kNegativeNan}) {
    for (const size_t at : {0u, 1u, 127u, 128u, 200u, 383u}) {
      std::vector<float> scores(384, 0.5f), values(384, 1.0f);
      scores[at] = score;
      const Row row = OfScores(scores, values);
      EXPECT_EQ(test::Bits(row.out[0]), kNanBits) << score << " at " << at;
      EXPECT_EQ(test::Bits(row.lse), kNanBits) << score << " at " << at;
    }
  }
}

TEST(ExactTest, ScoresOfMinusInfinityWeighNothing) {
  std::vector<float> scores = {1, 2}, values = {3, 5};
  const Row without = OfScores(scores, values);
  EXPECT_TRUE(SameBits(OfScores({-kInf, 1, -kInf, 2}, {7, 3, -9, 5}), without));
  // A chunk of nothing else does nothing, whatever its values.
  std::vector<float> more(128, -kInf), nan(128, kNegativeNan);
  more.insert(more.begin(), scores.begin(), scores.end());
  nan.insert(nan.begin(), values.begin(), values.end());
  AttentionOptions options = UnitScale({2});
  EXPECT_TRUE(SameBits(RowOf(WithScores(more, nan), {}, options), without));
}

TEST(ExactTest, NanInOneColumnOfVStaysThere) {
  const Inputs clean(MakeProblem(1, 200, 3), 3);
  Inputs dirty = clean;
  dirty.v.At(0, 0, 150, 1) = kNegativeNan;
  const Row want = RowOf(clean), row = RowOf(dirty);
  EXPECT_TRUE(SameBits(row.out[0], want.out[0]));
  EXPECT_EQ(test::Bits(row.out[1]), kNanBits);
  EXPECT_TRUE(SameBits(row.out[2], want.out[2]));
  EXPECT_TRUE(SameBits(row.lse, want.lse));
}

TEST(ExactTest, EveryNanIsCanonical) {
  Inputs inputs = WithScores({1, 2}, {kInf, -kInf});
  EXPECT_EQ(test::Bits(RowOf(inputs, {}, UnitScale()).out[0]), kNanBits);
  inputs.q.data = {kNegativeNan};
  EXPECT_EQ(test::Bits(RowOf(inputs).out[0]), kNanBits);
  EXPECT_EQ(test::Bits(RowOf(inputs).lse), kNanBits);
}

// -------------------------------------------------------------------------------- the environment

// Rows with subnormal weights' products, in which rounding, FTZ and DAZ would show.
TEST(ExactTest, TheHostsEnvironmentDoesNotMatter) {
  Inputs inputs(MakeProblem(1, 300, 8), 11);
  for (size_t n = 0; n < inputs.v.data.size(); n += 3) inputs.v.data[n] = 0x1.234p-135f;
  for (int64_t j = 0; j < 300; ++j) inputs.v.At(0, 0, j, 7) = 0x1.8p-140f;
  const Row want = RowOf(inputs);
  EXPECT_GT(want.out[7], 0.0f);
  std::fenv_t saved;
  std::fegetenv(&saved);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const Row row = RowOf(inputs);
    std::fesetenv(&saved);
    EXPECT_TRUE(SameBits(row, want)) << "rounding mode " << mode;
  }
#if defined(__SSE__)
  _mm_setcsr(_mm_getcsr() | 0x8040);  // FTZ and DAZ
  const Row row = RowOf(inputs);
  std::fesetenv(&saved);
  EXPECT_TRUE(SameBits(row, want));
#endif
}

// --------------------------------------------------------------------------------------- accuracy

TEST(ExactTest, IsWithinTheBoundOfFloat64) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Problem problem = MakeProblem(4, seed == 4 ? 2000 : 300, 64);
    problem.heads = 2;
    problem.v_dim = 40;
    const Inputs inputs(problem, 100 * seed);
    const Result<Reference> reference =
        Reference::Make(problem, mask::Causal(static_cast<int64_t>(seed) * 70), {});
    ASSERT_TRUE(reference.ok());
    double squares = 0, count = 0;
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t i = 0; i < 4; ++i) {
        const Row row = test::ExactRow(*reference, inputs, 0, h, i);
        const Result<Float64Row> want = reference->Row64(inputs.Args(), 0, h, i);
        ASSERT_TRUE(want.ok());
        EXPECT_NEAR(row.lse, want->lse, want->lse_bound);
        for (size_t d = 0; d < row.out.size(); ++d) {
          const double error = row.out[d] - want->out[d];
          EXPECT_LE(std::fabs(error), want->out_bound);
          squares += error * error;
          ++count;
        }
      }
    }
    const auto [low, high] = std::minmax_element(inputs.v.data.begin(), inputs.v.data.end());
    EXPECT_LE(std::sqrt(squares / count), 4 * 0x1p-24 * std::max(-*low, *high));
  }
}

// Large scores, and large products that cancel.
TEST(ExactTest, TheBoundGrowsWithTheProducts) {
  for (const float size : {10.0f, 100.0f, 1000.0f}) {
    Inputs inputs(MakeProblem(1, 300, 64), 77);
    for (float& q : inputs.q.data) q *= size;
    const Result<Reference> reference = Reference::Make(inputs.problem, {}, {});
    ASSERT_TRUE(reference.ok());
    const Row row = test::ExactRow(*reference, inputs, 0, 0, 0);
    const Result<Float64Row> want = reference->Row64(inputs.Args(), 0, 0, 0);
    ASSERT_TRUE(want.ok());
    EXPECT_NEAR(row.lse, want->lse, want->lse_bound);
    for (size_t d = 0; d < 64; ++d) EXPECT_NEAR(row.out[d], want->out[d], want->out_bound);
  }
}

}  // namespace
}  // namespace skipattn
