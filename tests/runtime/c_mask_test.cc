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

TEST(CMaskTest, AxesMayBeLeftOutForFour) {
  const bool element[1] = {true};
  const skipattn_tensor four = test::CView(ConstTensor(element, {1, 1, 1, 1}));
  const skipattn_tensor two = test::CView(ConstTensor(element, {1, 1}));
  skipattn_mask* mask = nullptr;
  ASSERT_EQ(skipattn_mask_dense(&four, nullptr, &mask), SKIPATTN_OK);
  EXPECT_EQ(Plan(3, 3, CMask(mask)), SKIPATTN_OK);
  ASSERT_EQ(skipattn_mask_dense(&two, nullptr, &mask), SKIPATTN_OK);
  EXPECT_TRUE(CComplains(Plan(3, 3, CMask(mask)), {"dense mask: axes", "bhqk"}));
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
