// Masks and views of the C interface. That each term is the right one is shown in tests/c.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/c_convert.h"
#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace {

using test::CComplains;
using test::CMask;
using test::CPlan;

skipattn_status Plan(int64_t q_len, int64_t k_len, const CMask& mask) {
  const skipattn_problem problem = test::CProblem(test::MakeProblem(q_len, k_len, 4));
  skipattn_plan* plan = nullptr;
  const skipattn_status status = skipattn_plan_create(&problem, mask.get(), nullptr, &plan);
  EXPECT_EQ(plan != nullptr, status == SKIPATTN_OK);
  skipattn_plan_free(plan);
  return status;
}

TEST(CMaskTest, ContiguousViewsAreThoseOfCpp) {
  const std::vector<std::vector<int64_t>> shapes = {{7}, {2, 3}, {2, 0, 3}, {2, 3, 4, 5}};
  const float element = 0;
  for (const std::vector<int64_t>& shape : shapes) {
    skipattn_tensor view = SKIPATTN_TENSOR_INIT;
    const int rank = static_cast<int>(shape.size());
    ASSERT_EQ(skipattn_tensor_contiguous(&view, &element, SKIPATTN_F32, rank, shape.data()), 0);
    EXPECT_EQ(view.data, &element);
    EXPECT_EQ(view.rank, rank);
    int64_t step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      EXPECT_EQ(view.shape[axis], shape[static_cast<size_t>(axis)]);
      EXPECT_EQ(view.stride[axis], step);
      step *= view.shape[axis];
    }
  }
}

TEST(CMaskTest, ViewsOfNoRankAreErrors) {
  const int64_t shape[5] = {1, 1, 1, 1, 1};
  skipattn_tensor view = SKIPATTN_TENSOR_INIT;
  for (int32_t rank : {-1, 0, 5}) {
    EXPECT_TRUE(CComplains(skipattn_tensor_contiguous(&view, shape, SKIPATTN_I64, rank, shape),
                           {"rank is " + std::to_string(rank), "1 to 4"}));
  }
  const int64_t huge[4] = {INT64_MAX, INT64_MAX, -1, INT64_MIN};
  EXPECT_EQ(skipattn_tensor_contiguous(&view, shape, SKIPATTN_I64, 4, huge), SKIPATTN_OK)
      << "left to the checks of a run";
}

TEST(CMaskTest, ValuesAreCheckedWhereTheMaskIsUsed) {
  int64_t lengths[1] = {9};
  skipattn_mask* mask = nullptr;
  {
    const skipattn_tensor view = test::CView(ConstTensor(lengths, {1}));
    ASSERT_EQ(skipattn_mask_key_lengths(&view, &mask), SKIPATTN_OK);
  }
  const CMask kept(mask);
  EXPECT_TRUE(CComplains(Plan(4, 8, kept), {"key_lengths[0] is 9", "0 to 8"}));
  lengths[0] = 8;  // the array is borrowed
  EXPECT_EQ(Plan(4, 8, kept), SKIPATTN_OK) << skipattn_last_error();
}

TEST(CMaskTest, ADiagonalMustBeGivenOnceWhereLengthsDiffer) {
  EXPECT_TRUE(CComplains(Plan(4, 8, test::CausalMask()), {"Tq = 4", "top_left", "bottom_right"}));
  EXPECT_EQ(Plan(4, 4, test::CausalMask()), SKIPATTN_OK);
  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  diagonal.align = SKIPATTN_ALIGN_TOP_LEFT;
  diagonal.has_offset = 1;
  skipattn_mask* mask = nullptr;
  ASSERT_EQ(skipattn_mask_window(2, 2, &diagonal, &mask), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(4, 8, CMask(mask)), {"window: diagonal", "both align and offset"}));
}

TEST(CMaskTest, JoinedMasksOutliveTheirParts) {
  int64_t lengths[1] = {3};
  const skipattn_tensor view = test::CView(ConstTensor(lengths, {1}));
  skipattn_mask *part = nullptr, *joined = nullptr;
  ASSERT_EQ(skipattn_mask_key_lengths(&view, &part), SKIPATTN_OK);
  {
    const CMask causal = test::CausalMask(), keys(part);
    ASSERT_EQ(skipattn_mask_and(causal.get(), keys.get(), &joined), SKIPATTN_OK);
  }
  const CMask kept(joined);
  const auto plan = MakePlan(test::MakeProblem(5, 5, 4), kept->mask);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->stats().live_pairs, 1 + 2 + 3 + 3 + 3);
}

int CountCalls(void* context, int64_t, int64_t, int64_t i, int64_t j) {
  ++*static_cast<int*>(context);
  return i == j ? -1 : 0;  // any number but 0 is true
}

TEST(CMaskTest, AFunctionIsCalledWhilePlanningOnly) {
  int calls = 0;
  skipattn_mask* mask = nullptr;
  ASSERT_EQ(skipattn_mask_function(CountCalls, &calls, &mask), SKIPATTN_OK);
  EXPECT_EQ(calls, 0);
  CMask function(mask);
  const skipattn_problem problem = test::CProblem(test::MakeProblem(5, 5, 4));
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.has_scale = 1;  // 0: all weights are 1
  skipattn_plan* made = nullptr;
  ASSERT_EQ(skipattn_plan_create(&problem, function.get(), &options, &made), SKIPATTN_OK);
  const CPlan plan(made);
  function.reset();
  const int planned = calls;
  EXPECT_GE(planned, 5 * 5);
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  ASSERT_EQ(skipattn_plan_get_stats(made, &stats), SKIPATTN_OK);
  EXPECT_EQ(stats.live_pairs, 5);
  float x[5 * 4], out[5 * 4];
  for (int n = 0; n < 5 * 4; ++n) x[n] = static_cast<float>(n);
  const skipattn_tensor in = test::CView(ConstTensor(x, {1, 1, 5, 4}));
  const skipattn_tensor result = test::CView(ConstTensor(out, {1, 1, 5, 4}));
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  args.q = args.k = args.v = &in;
  args.out = &result;
  ASSERT_EQ(skipattn_plan_run(made, &args), SKIPATTN_OK) << skipattn_last_error();
  EXPECT_EQ(calls, planned);
  for (int n = 0; n < 5 * 4; ++n) EXPECT_EQ(out[n], x[n]) << n;  // each row attends its own key
}

TEST(CMaskTest, WhatIsWrongInPartsIsToldWhereTheMaskIsUsed) {
  const int64_t prefix[1] = {9};
  const bool element[1] = {true};
  const skipattn_tensor lengths = test::CView(ConstTensor(prefix, {1}));
  const skipattn_tensor values = test::CView(ConstTensor(element, {1, 1}));
  const CMask causal = test::CausalMask();
  skipattn_mask *wrong = nullptr, *turned = nullptr, *either = nullptr;
  ASSERT_EQ(skipattn_mask_prefix_causal(&lengths, nullptr, &wrong), SKIPATTN_OK);
  ASSERT_EQ(skipattn_mask_not(wrong, &turned), SKIPATTN_OK);
  const CMask kept_wrong(wrong), kept_turned(turned);
  ASSERT_EQ(skipattn_mask_or(causal.get(), turned, &either), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(8, 8, CMask(either)), {"prefix_causal: prefix[0] is 9", "0 to 8"}));
  ASSERT_EQ(skipattn_mask_blocks(&values, "qk", 0, 1, &wrong), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(8, 8, CMask(wrong)), {"blocks: block_q is 0", "1 or more"}));
}

TEST(CMaskTest, NestingHasAnEnd) {
  CMask nested = test::CausalMask();
  const CMask causal = test::CausalMask();
  for (int level = 0; level < 150; ++level) {
    skipattn_mask *both = nullptr, *turned = nullptr;
    ASSERT_EQ(skipattn_mask_and(nested.get(), causal.get(), &both), SKIPATTN_OK);
    nested.reset(both);
    ASSERT_EQ(skipattn_mask_not(nested.get(), &turned), SKIPATTN_OK);
    nested.reset(turned);
    ASSERT_EQ(skipattn_mask_or(nested.get(), causal.get(), &both), SKIPATTN_OK);
    nested.reset(both);
  }
  EXPECT_TRUE(CComplains(Plan(4, 4, nested), {"mask", "200 levels"}));
}

TEST(CMaskTest, AxesMayBeLeftOutForFour) {
  const bool element[1] = {true};
  const skipattn_tensor four = test::CView(ConstTensor(element, {1, 1, 1, 1}));
  const skipattn_tensor two = test::CView(ConstTensor(element, {1, 1}));
  skipattn_mask* mask = nullptr;
  ASSERT_EQ(skipattn_mask_dense(&four, nullptr, &mask), SKIPATTN_OK);
  EXPECT_EQ(Plan(3, 3, CMask(mask)), SKIPATTN_OK);
  ASSERT_EQ(skipattn_mask_dense(&two, nullptr, &mask), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(3, 3, CMask(mask)), {"dense mask: axes", "bhqk"}));
  ASSERT_EQ(skipattn_mask_blocks(&four, nullptr, 2, 2, &mask), SKIPATTN_OK);
  EXPECT_EQ(Plan(3, 3, CMask(mask)), SKIPATTN_OK) << skipattn_last_error();
  ASSERT_EQ(skipattn_mask_blocks(&two, nullptr, 2, 2, &mask), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(3, 3, CMask(mask)), {"blocks: axes", "bhqk"}));
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
