// Plan::Describe says what people need to know.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn {
inline namespace v0 {
namespace {

Problem Sized(int64_t length) {
  Problem p;
  p.batch = 1;
  p.heads = p.kv_heads = 1;
  p.q_len = p.k_len = length;
  p.dim = p.v_dim = 16;
  return p;
}

bool Says(const std::string& text, const std::string& words) {
  return text.find(words) != std::string::npos;
}

TEST(DescribeTest, NamesSharesKernelAndPicture) {
  const std::string text = MakePlan(Sized(256), mask::Causal())->Describe();
  EXPECT_TRUE(Says(text, "32896 of 65536 pairs (50.2 %)")) << text;
  EXPECT_TRUE(Says(text, BestTarget())) << text;
  EXPECT_TRUE(Says(text, TileConfigs()->front())) << text;
  EXPECT_TRUE(Says(text, "skipped")) << text;
  EXPECT_TRUE(Says(text, "mask      causal\n")) << text;
  EXPECT_TRUE(Says(text, "% of that without a mask, as predicted")) << text;
  EXPECT_FALSE(Says(text, "warning")) << text;
}

TEST(DescribeTest, WarnsOfAMaskThatSavesNothing) {
  std::vector<uint8_t> pairs(64 * 64);
  for (size_t n = 0; n < pairs.size(); ++n) pairs[n] = (n / 64 + n) % 2;
  const Mask mask = mask::Dense(ConstTensor(pairs.data(), DType::kBool, {64, 64}), "qk");
  const std::string text = MakePlan(Sized(64), mask)->Describe();
  EXPECT_TRUE(Says(text, "leaves out 50.0 % of the pairs, but hardly any work")) << text;
}

TEST(DescribeTest, WarnsOfAMaskThatLooksInverted) {
  const std::vector<int64_t> length = {20};
  const std::string text = MakePlan(Sized(64), mask::QueryLengths(length))->Describe();
  EXPECT_TRUE(Says(text, "44 of 64 have no key")) << text;
  EXPECT_TRUE(Says(text, "inverted")) << text;
}

TEST(DescribeTest, SaysWhatABiasDoes) {
  Problem p = Sized(8);
  const auto text = [&](float first, float second) {
    std::vector<float> numbers(64, 0.0f);
    numbers[9] = first;
    numbers[20] = second;
    return MakePlan(p, {}, bias::Dense(ConstTensor(numbers.data(), {8, 8}), "qk"), {})->Describe();
  };
  EXPECT_FALSE(Says(MakePlan(p, {})->Describe(), "bias"));
  EXPECT_TRUE(Says(text(1, 2), "bias      dense(qk), whose values the runs bring\n"));
  EXPECT_TRUE(Says(text(-INFINITY, 2), "bias      dense(qk), whose values the runs bring\n"));
  EXPECT_TRUE(Says(text(-INFINITY, -3e38f), "bias      dense(qk), which only masks"));
  EXPECT_FALSE(Says(text(-INFINITY, -3e38f), "warning"));
  for (const float low : {-1e4f, -1e9f, -9e29f}) {
    for (const float other : {0.0f, -INFINITY}) {
      const std::string with = text(other, low);
      EXPECT_TRUE(Says(with, "warning   the bias has numbers of -10000 and less")) << with;
      EXPECT_TRUE(Says(with, "-inf masks\n")) << with;
    }
  }
  const std::vector<float> slopes(64);
  EXPECT_TRUE(Says(MakePlan(p, {}, bias::Alibi(ConstTensor(slopes.data(), {1}), 3), {})->Describe(),
                   "bias      alibi(offset 3)\n"));
  EXPECT_TRUE(
      Says(MakePlan(p, {}, bias::Relative(ConstTensor(slopes.data(), {1, 32})), {})->Describe(),
           "bias      relative(table of 32)\n"));
  p.bias = true;
  EXPECT_TRUE(
      Says(MakePlan(p, {})->Describe(), "bias      brought by the runs, nothing known yet"));
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
