// Mask expressions as text.
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "plan/bias_term.h"
#include "plan/mask_terms.h"

namespace skipattn::internal {
namespace {

TEST(MaskTextTest, ReadsAsItIsWritten) {
  const std::vector<int64_t> lengths = {3}, ids = {0, 0};
  const std::vector<uint8_t> bools(4);
  const ConstTensor id_rows(ids.data(), {1, 2}), pairs(bools.data(), DType::kBool, {2, 2});
  const Mask n = mask::KeyLengths(lengths), causal = mask::Causal();
  EXPECT_EQ(MaskText(Mask()), "everything");
  EXPECT_EQ(MaskText(n & causal), "key_lengths & causal");
  EXPECT_EQ(MaskText(mask::Causal(mask::Align::kBottomRight)), "causal(bottom_right)");
  EXPECT_EQ(MaskText(mask::Causal(-2)), "causal(offset -2)");
  EXPECT_EQ(MaskText(mask::Causal(lengths)), "causal(an offset for each entry)");
  EXPECT_EQ(MaskText(mask::Window(4, -1, 3)), "window(4, -1, offset 3)");
  EXPECT_EQ(MaskText(mask::Window(4, 0)), "window(4, 0)");
  EXPECT_EQ(MaskText(mask::PrefixCausal(lengths)), "prefix_causal");
  EXPECT_EQ(MaskText(mask::Documents(id_rows, id_rows)), "documents");
  EXPECT_EQ(MaskText(mask::Dense(pairs, "qk")), "dense(qk)");
  EXPECT_EQ(MaskText(mask::Blocks(pairs, "qk", 16, 8)), "blocks(qk, 16 x 8)");
  EXPECT_EQ(MaskText(mask::Function([](int64_t, int64_t, int64_t, int64_t) { return true; })),
            "function");
}

TEST(MaskTextTest, ParenthesesWhereTheyAreNeeded) {
  const std::vector<int64_t> lengths = {3};
  const Mask n = mask::KeyLengths(lengths), causal = mask::Causal(), window = mask::Window(1, 1);
  EXPECT_EQ(MaskText(n | causal | window), "key_lengths | causal | window(1, 1)");
  EXPECT_EQ(MaskText((n | causal) & window), "(key_lengths | causal) & window(1, 1)");
  EXPECT_EQ(MaskText(n | (causal & window)), "key_lengths | (causal & window(1, 1))");
  EXPECT_EQ(MaskText(~n), "~key_lengths");
  EXPECT_EQ(MaskText(~(n & causal)), "~(key_lengths & causal)");
  EXPECT_EQ(MaskText(~Mask() | n), "~everything | key_lengths");
  EXPECT_EQ(MaskText(~(n | causal)), "~(key_lengths | causal)");
}

TEST(BiasTextTest, ReadsAsItIsWritten) {
  const float numbers[12] = {};
  EXPECT_EQ(BiasText({}), "");
  EXPECT_EQ(BiasText(bias::Dense(ConstTensor(numbers, {1, 1, 3, 4}))), "dense");
  EXPECT_EQ(BiasText(bias::Dense(ConstTensor(numbers, {3, 4}), "qk")), "dense(qk)");
  EXPECT_EQ(BiasText(bias::Alibi(ConstTensor(numbers, {3}), mask::Align::kTopLeft)),
            "alibi(top_left)");
  EXPECT_EQ(BiasText(bias::Relative(ConstTensor(numbers, {3, 4}), -2)),
            "relative(table of 4, offset -2)");
}

TEST(MaskTextTest, LongOnesAreCut) {
  Mask mask;
  for (int n = 0; n < 1000; ++n) mask &= mask::Window(n, n);
  EXPECT_LT(MaskText(mask).size(), 300u);
  EXPECT_EQ(MaskText(mask).substr(MaskText(mask).size() - 4), " ...");
}

}  // namespace
}  // namespace skipattn::internal
