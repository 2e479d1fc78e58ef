// Biases and merges of the C interface. That each kind is the right one is shown in tests/c.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "skipattn/attention.h"
#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace {

using test::Array4;
using test::CBias;
using test::CComplains;

constexpr int64_t kQueries = 5, kKeys = 9;

/// Tries to plan with a bias, nothing being masked otherwise.
skipattn_status Plan(const CBias& bias) {
  const skipattn_problem problem = test::CProblem(test::MakeProblem(kQueries, kKeys, 4));
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.bias = bias.get();
  skipattn_mask* everything = nullptr;
  EXPECT_EQ(skipattn_mask_everything(&everything), SKIPATTN_OK);
  const test::CMask mask(everything);
  skipattn_plan* plan = nullptr;
  const skipattn_status status = skipattn_plan_create(&problem, mask.get(), &options, &plan);
  EXPECT_EQ(plan != nullptr, status == SKIPATTN_OK);
  skipattn_plan_free(plan);
  return status;
}

TEST(CBiasTest, ValuesAreCheckedWhereTheBiasIsUsed) {
  const std::vector<float> numbers(kQueries * kKeys);
  const skipattn_tensor two = test::CView(ConstTensor(numbers.data(), {1, 2}));
  const skipattn_tensor slopes = test::CView(ConstTensor(numbers.data(), {2}));
  const skipattn_tensor plane = test::CView(ConstTensor(numbers.data(), {kQueries, kKeys}));
  const auto dense = [&](const skipattn_tensor& values, const char* axes) {
    skipattn_bias* bias = nullptr;
    EXPECT_EQ(skipattn_bias_dense(&values, axes, &bias), SKIPATTN_OK);
    return CBias(bias);
  };
  EXPECT_EQ(Plan(dense(plane, "qk")), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(dense(plane, nullptr)), {"bias: axes", "bhqk"}));
  EXPECT_TRUE(CComplains(Plan(dense(two, "qk")), {"bias: axis 'k' is of size 2", "9"}));
  skipattn_tensor integers = plane;
  integers.dtype = SKIPATTN_I32;
  EXPECT_TRUE(CComplains(Plan(dense(integers, "qk")), {"bias is i32", "f32"}));

  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  skipattn_bias* bias = nullptr;
  ASSERT_EQ(skipattn_bias_alibi(&slopes, nullptr, &bias), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(CBias(bias)), {"alibi"}));
  diagonal.align = SKIPATTN_ALIGN_TOP_LEFT;
  ASSERT_EQ(skipattn_bias_alibi(&slopes, &diagonal, &bias), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(CBias(bias)), {"slopes", "2"}));
  ASSERT_EQ(skipattn_bias_relative(&two, nullptr, &bias), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(CBias(bias)), {"relative"}));
  ASSERT_EQ(skipattn_bias_relative(&two, &diagonal, &bias), SKIPATTN_OK);
  EXPECT_EQ(Plan(CBias(bias)), SKIPATTN_OK);
  diagonal.align = 7;
  EXPECT_TRUE(CComplains(skipattn_bias_relative(&two, &diagonal, &bias), {"diagonal: align is 7"}));
  EXPECT_EQ(bias, nullptr);
  EXPECT_TRUE(CComplains(skipattn_bias_alibi(&slopes, &diagonal, &bias), {"diagonal: align is 7"}));
}

TEST(CBiasTest, AOneShotTakesOneBias) {
  const Problem p = test::MakeProblem(kQueries, kKeys, 4);
  const test::Inputs inputs(p, 1);
  Array4 out({p.batch, p.heads, p.q_len, p.v_dim}, 7.0f);
  const Array4 before = out;
  const skipattn_tensor q = test::CView(inputs.q.View()), k = test::CView(inputs.k.View());
  const skipattn_tensor v = test::CView(inputs.v.View()), o = test::CView(out.View());
  const std::vector<float> numbers(kQueries * kKeys);
  const skipattn_tensor four = test::CView(ConstTensor(numbers.data(), {1, 1, kQueries, kKeys}));
  skipattn_bias* bias = nullptr;
  ASSERT_EQ(skipattn_bias_dense(&four, nullptr, &bias), SKIPATTN_OK);
  const CBias owner(bias);
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.bias = bias;
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  args.q = &q;
  args.k = &k;
  args.v = &v;
  args.out = &o;
  args.bias = &four;
  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  diagonal.align = SKIPATTN_ALIGN_TOP_LEFT;
  skipattn_mask* mask = nullptr;
  ASSERT_EQ(skipattn_mask_causal(&diagonal, &mask), SKIPATTN_OK);
  const test::CMask mask_owner(mask);
  EXPECT_TRUE(CComplains(skipattn_attention(&args, mask, &options), {"bias is given twice"}));
  EXPECT_TRUE(test::SameBits(out.data, before.data));
  args.bias = nullptr;
  EXPECT_EQ(skipattn_attention(&args, mask, &options), SKIPATTN_OK);
}

TEST(CBiasTest, MergesComplainAsInCpp) {
  const float numbers[4] = {1, 2, 3, 4};
  float written[4] = {7, 7, 7, 7};
  const skipattn_tensor out = test::CView(ConstTensor(numbers, {1, 1, 2, 1}));
  const skipattn_tensor lse = test::CView(ConstTensor(numbers, {1, 1, 2}));
  const skipattn_tensor to = test::CView(ConstTensor(written, {1, 1, 2, 1}));
  const skipattn_tensor to_lse = test::CView(ConstTensor(written + 2, {1, 1, 2}));
  const skipattn_tensor wrong = test::CView(ConstTensor(numbers, {1, 2, 1, 1}));
  skipattn_merge_args args = SKIPATTN_MERGE_ARGS_INIT;
  args.out_a = args.out_b = &out;
  args.lse_a = args.lse_b = &lse;
  args.out = &to;
  EXPECT_TRUE(CComplains(skipattn_merge(&args), {"lse is not given"}));
  args.lse = &to_lse;
  args.out_b = &wrong;
  EXPECT_TRUE(CComplains(skipattn_merge(&args), {"out_b: shape is [1, 2, 1, 1]"}));
  for (float number : written) EXPECT_EQ(number, 7);
  args.out_b = &out;
  EXPECT_EQ(skipattn_merge(&args), SKIPATTN_OK);
  EXPECT_EQ(written[0], 1);
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
