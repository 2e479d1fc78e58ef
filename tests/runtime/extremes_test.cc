// Scores of great size and rows of great length: the bits of the reference, and within its bound.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

/// Runs every exact target and configuration, and compares one row in ten with float64.
void ExpectOnAllConfigs(AttentionCase& data, const Mask& mask, const Bias& bias,
                        AttentionOptions options) {
  const Problem& p = data.problem;
  const Reference reference = *Reference::Make(p, mask, bias, options);
  Outputs want = data.Exact(reference);
  for (int64_t i = 0; i < p.q_len; i += 10) {
    const Float64Row exact = *reference.Row64(data.Args(want), 0, 0, i);
    EXPECT_LE(std::fabs(*want.lse.Row(0, 0, i) - exact.lse), exact.lse_bound) << "row " << i;
    for (int64_t d = 0; d < p.v_dim; ++d) {
      const float out = want.out.Row(0, 0, i)[d];
      ASSERT_LE(std::fabs(out - exact.out[static_cast<size_t>(d)]), exact.out_bound) << "row " << i;
    }
  }
  for (const TargetConfig& one : AllConfigs()) {
    if (!one.exact) continue;
    SCOPED_TRACE(one.target + " " + one.config);
    options.target = one.target;
    options.config = one.config;
    const Result<Plan> plan = MakePlan(p, mask, bias, options);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ASSERT_TRUE(SameBits(data.Run(*plan), want));
  }
}

Problem OneHead(int64_t q_len, int64_t k_len, int64_t dim) {
  Problem p;
  p.batch = p.heads = p.kv_heads = 1;
  p.q_len = q_len;
  p.k_len = k_len;
  p.dim = p.v_dim = dim;
  return p;
}

/// How the scores of one key after the other run, from -1 to 1.
struct Course {
  const char* name;
  double (*at)(int64_t j, int64_t keys);
};

double Rising(int64_t j, int64_t keys) {
  return 2.0 * static_cast<double>(j) / static_cast<double>(keys) - 1;
}
double Falling(int64_t j, int64_t keys) { return -Rising(j, keys); }
double ByBlocks(int64_t j, int64_t) { return j / 128 % 2 == 0 ? 1.0 : -1.0; }
double OnePeak(int64_t j, int64_t keys) { return j == keys / 2 ? 1.0 : -1.0; }
double Scattered(int64_t j, int64_t) { return static_cast<double>(j * 7919 % 2001) / 1000 - 1; }

TEST(ExtremesTest, HugeScoresThatRiseFallAndJumpFromChunkToChunk) {
  const Course courses[] = {{"rising", Rising},
                            {"falling", Falling},
                            {"by blocks", ByBlocks},
                            {"one peak", OnePeak},
                            {"scattered", Scattered}};
  for (const Course& course : courses) {
    // About so large with such a spread: weights are 0 or 1 but for neighbours, and the largest
    // scores, which float32 knows to a few thousandths, cancel.
    for (const auto& [middle, spread] :
         std::vector<std::pair<double, double>>{{6e4, 1e4}, {-6e4, 1e4}, {0, 1e4}, {6e4, 3}}) {
      for (const int64_t q_len : {1, 40}) {
        SCOPED_TRACE(std::string(course.name) + " around " + std::to_string(middle) + ", spread " +
                     std::to_string(spread) + ", queries " + std::to_string(q_len));
        Rng rng(7);
        const Problem p = OneHead(q_len, 700, 4);
        AttentionCase data(rng, p);
        for (int64_t i = 0; i < p.q_len; ++i) data.q.Row(0, 0, i)[0] = 256.0f;
        for (int64_t j = 0; j < p.k_len; ++j) {
          data.k.Row(0, 0, j)[0] =
              static_cast<float>((middle + spread * course.at(j, p.k_len)) / 256 * 2);
        }
        AttentionOptions options;
        options.scale = 0.5;
        // The first tiles of keys are masked for all rows, for some, or for none.
        std::vector<uint8_t> pairs(static_cast<size_t>(p.q_len * p.k_len), 1);
        for (int64_t i = 0; i < p.q_len; ++i) {
          const int64_t from = i % 3 == 0 ? 0 : i % 3 == 1 ? 128 : 300;
          std::fill_n(pairs.begin() + static_cast<ptrdiff_t>(i * p.k_len), from, uint8_t{0});
        }
        const ConstTensor allowed(pairs.data(), DType::kBool, {p.q_len, p.k_len});
        const std::vector<int64_t> begin = {260}, end = {700};
        ExpectOnAllConfigs(data, {}, {}, options);
        ExpectOnAllConfigs(data, mask::Dense(allowed, "qk"), {}, options);
        ExpectOnAllConfigs(data, mask::KeyRange(begin, end), {}, options);
      }
    }
  }
}

TEST(ExtremesTest, HugeBiasesOfBothSigns) {
  Rng rng(9);
  for (const float size : {1e4f, 1e9f, 1e29f}) {
    Problem p = OneHead(21, 300, 8);
    p.bias = true;
    AttentionCase data(rng, p);
    std::vector<float> numbers(static_cast<size_t>(p.q_len * p.k_len));
    for (float& number : numbers) number = PickOf(rng, {-1, 0, 1}) * size;
    data.bias = ConstTensor(numbers.data(), {1, 1, p.q_len, p.k_len});
    ExpectOnAllConfigs(data, mask::Causal(mask::Align::kBottomRight), bias::Dense(data.bias), {});
  }
}

// The mean of more values than 2^16, each chunk's sum being small: no weight is lost.
TEST(ExtremesTest, LongRowsOfEqualWeights) {
  Rng rng(11);
  const Problem p = OneHead(2, 65537, 3);
  AttentionCase data(rng, p);
  for (int64_t i = 0; i < p.q_len; ++i) std::fill_n(data.q.Row(0, 0, i), p.dim, 0.0f);
  double sum = 0;
  for (int64_t j = 0; j < p.k_len; ++j) {
    data.v.Row(0, 0, j)[0] = 1.0f;
    data.v.Row(0, 0, j)[1] = static_cast<float>(j % 2 == 0 ? 1 : -1);
    sum += static_cast<double>(data.v.Row(0, 0, j)[2]);
  }
  ExpectOnAllConfigs(data, {}, {}, {});
  Outputs got = data.Run(*MakePlan(p, {}));
  for (int64_t i = 0; i < p.q_len; ++i) {
    const float* out = got.out.Row(0, 0, i);
    EXPECT_NEAR(out[0], 1.0, 0x1p-24);
    EXPECT_NEAR(out[1], 1.0 / 65537, 0x1p-40);
    EXPECT_NEAR(out[2], sum / 65537, 1e-6);
    EXPECT_NEAR(*got.lse.Row(0, 0, i), std::log(65537.0), 1e-5);
  }
}

}  // namespace
}  // namespace skipattn::test
