#include "plan/check_mask.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/test_util.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using mask::Align;
using test::Complains;

constexpr int64_t kBatch = 2, kHeads = 3, kQ = 5, kK = 6;

Problem SomeProblem() {
  Problem problem = test::MakeProblem(kQ, kK, 4);
  problem.batch = kBatch;
  problem.heads = kHeads;
  return problem;
}

Status Check(const Mask& mask) { return CheckMask(SomeProblem(), mask); }

Status CheckSquare(const Mask& mask) { return CheckMask(test::MakeProblem(4, 4, 1), mask); }

// A bool array of any shape up to 1000 elements.
const std::vector<uint8_t> kTrue(1000, 1);
ConstTensor Bools(std::initializer_list<int64_t> shape) {
  return ConstTensor(kTrue.data(), DType::kBool, shape);
}

using Ints = std::vector<int64_t>;

TEST(CheckMaskTest, NoMaskIsFine) { EXPECT_TRUE(Check({}).ok()); }

TEST(CheckMaskTest, EveryTermOfAConjunctionIsChecked) {
  const Ints good = {0, 6}, bad = {0, 7};
  EXPECT_TRUE(Check(mask::KeyLengths(good) & mask::Causal(1)).ok());
  EXPECT_TRUE(Complains(Check(mask::Causal(1) & mask::KeyLengths(bad)), {"key_lengths[1] is 7"}));
}

TEST(CheckMaskTest, EveryTermOfATreeIsChecked) {
  const Ints good = {0, 6}, bad = {0, 7};
  const Mask fine = mask::KeyLengths(good), wrong = mask::Causal(1) & mask::KeyLengths(bad);
  EXPECT_TRUE(Check(fine | ~fine).ok());
  for (const Mask& mask : {wrong | fine, fine | wrong, ~wrong, fine & ~(fine | ~(wrong | fine)),
                           Mask() | wrong, ~~wrong}) {
    EXPECT_TRUE(Complains(Check(mask), {"key_lengths[1] is 7", "0 to 6"}));
  }
  EXPECT_TRUE(Complains(Check(~mask::Causal()), {"causal", "top_left", "bottom_right"}));
}

TEST(CheckMaskTest, TreesHaveALimit) {
  const Ints good = {0, 6};
  Mask deep = mask::KeyLengths(good);
  for (int level = 0; level < kMaxMaskDepth; ++level) deep = ~(deep & mask::KeyLengths(good));
  EXPECT_TRUE(Check(deep).ok());
  EXPECT_TRUE(Complains(Check(~(deep & deep)), {"mask is nested too deep", "at most 200 levels"}));
}

TEST(CheckMaskTest, PrefixCausal) {
  const Ints edge = {0, 6}, high = {7, 0};
  EXPECT_TRUE(Check(mask::PrefixCausal(edge, Align::kBottomRight)).ok());
  EXPECT_TRUE(
      Complains(Check(mask::PrefixCausal(high, 0)), {"prefix_causal: prefix[0] is 7", "6"}));
  EXPECT_TRUE(Complains(Check(mask::PrefixCausal({}, 0)), {"prefix_causal: prefix is not given"}));
  EXPECT_TRUE(Complains(Check(mask::PrefixCausal(edge)), {"prefix_causal", "top_left"}));
}

TEST(CheckMaskTest, Blocks) {
  EXPECT_TRUE(Check(mask::Blocks(Bools({2, 3}), "qk", 4, 2)).ok());  // ceil(5 / 4), ceil(6 / 2)
  EXPECT_TRUE(Check(mask::Blocks(Bools({2, 3, 1, 3}), "", 4, 2)).ok());
  EXPECT_TRUE(Check(mask::Blocks(Bools({1, 1}), "qk", INT64_MAX, INT64_MAX)).ok());
  EXPECT_TRUE(Complains(Check(mask::Blocks(Bools({2, 3}), "qk", 0, 2)), {"blocks: block_q is 0"}));
  EXPECT_TRUE(Complains(Check(mask::Blocks(Bools({2, 3}), "qk", 4, -1)), {"block_k is -1"}));
  EXPECT_TRUE(Complains(Check(mask::Blocks(Bools({3, 3}), "qk", 4, 2)),
                        {"blocks: axis 'q' is of size 3", "2 or 1"}));
  EXPECT_TRUE(Complains(Check(mask::Blocks(Bools({2, 3}), "", 4, 2)), {"blocks: axes", "bhqk"}));
  EXPECT_TRUE(Complains(Check(mask::Blocks({}, "qk", 4, 2)), {"blocks is not given"}));
}

TEST(CheckMaskTest, AFunctionIsNeeded) {
  EXPECT_TRUE(Check(mask::Function([](auto...) { return true; })).ok());
  EXPECT_TRUE(Complains(Check(mask::Function({})), {"function is empty"}));
}

TEST(CheckMaskTest, LengthsAreWithinTheAxis) {
  const Ints edge = {0, 6}, negative = {-1, 2}, long_one = {3, 7}, one = {3};
  EXPECT_TRUE(Check(mask::KeyLengths(edge)).ok());
  EXPECT_TRUE(Complains(Check(mask::KeyLengths(negative)), {"key_lengths[0] is -1", "0 to 6"}));
  EXPECT_TRUE(Complains(Check(mask::KeyLengths(long_one)), {"key_lengths[1] is 7", "0 to 6"}));
  EXPECT_TRUE(Complains(Check(mask::QueryLengths(edge)), {"query_lengths[1] is 6", "0 to 5"}));
  EXPECT_TRUE(Complains(Check(mask::KeyLengths(one)), {"key_lengths", "[1]", "[B] = [2]"}));
  EXPECT_TRUE(Complains(Check(mask::KeyLengths({})), {"key_lengths is not given", "i32 or i64"}));
}

TEST(CheckMaskTest, RangesNameTheirEnd) {
  const Ints begin = {5, 0}, end = {1, 6}, low = {-2, 0}, high = {1, 99};
  EXPECT_TRUE(Check(mask::KeyRange(begin, end)).ok());  // begin > end is empty, not wrong
  EXPECT_TRUE(Complains(Check(mask::KeyRange(low, end)), {"key_range: begin[0] is -2"}));
  EXPECT_TRUE(Complains(Check(mask::KeyRange(begin, high)), {"key_range: end[1] is 99", "6"}));
  EXPECT_TRUE(Complains(Check(mask::QueryRange(begin, end)), {"query_range: end[1] is 6", "5"}));
  EXPECT_TRUE(Complains(Check(mask::QueryRange({}, end)), {"query_range: begin is not given"}));
}

TEST(CheckMaskTest, IntegersAndFloatsAreNotInterchangeable) {
  const std::vector<float> floats(kBatch);
  const Ints ints(kBatch * kK);
  EXPECT_TRUE(Complains(Check(mask::KeyLengths(floats)), {"f32", "i32 or i64"}));
  EXPECT_TRUE(Complains(Check(mask::KeyValid(ConstTensor(ints.data(), {kBatch, kK}))),
                        {"key_valid", "i64", "bool [B, Tk] = [2, 6]"}));
}

TEST(CheckMaskTest, ValidArraysHaveTheirShape) {
  EXPECT_TRUE(Check(mask::KeyValid(Bools({kBatch, kK}))).ok());
  EXPECT_TRUE(Check(mask::QueryValid(Bools({kBatch, kQ}))).ok());
  EXPECT_TRUE(Complains(Check(mask::KeyValid(Bools({kBatch, kQ}))), {"[2, 5]", "[2, 6]"}));
  EXPECT_TRUE(Complains(Check(mask::KeyValid(Bools({kBatch, kK, 1}))), {"[2, 6, 1]"}));
  const ConstTensor null(nullptr, DType::kBool, {kBatch, kK});
  EXPECT_TRUE(Complains(Check(mask::KeyValid(null)), {"key_valid", "null"}));
}

TEST(CheckMaskTest, PaddingIsForSelfAttention) {
  EXPECT_TRUE(CheckSquare(mask::Padding(Bools({1, 4}))).ok());
  EXPECT_TRUE(Complains(Check(mask::Padding(Bools({kBatch, kK}))), {"padding", "5", "6"}));
}

TEST(CheckMaskTest, TwoLengthsNeedAnAlignment) {
  for (const Mask& mask : {mask::Causal(), mask::Window(1, 1)}) {
    EXPECT_TRUE(Complains(Check(mask), {"top_left", "bottom_right", "5", "6"}));
    EXPECT_TRUE(CheckSquare(mask).ok());
  }
  EXPECT_TRUE(Check(mask::Causal(Align::kTopLeft)).ok());
  EXPECT_TRUE(Check(mask::Causal(Align::kBottomRight)).ok());
  EXPECT_TRUE(Check(mask::Causal(-3)).ok());
  EXPECT_TRUE(Check(mask::Causal(INT64_MIN)).ok());
}

TEST(CheckMaskTest, OneDiagonalOnly) {
  mask::Diagonal both(Align::kTopLeft);
  both.offset = 1;
  EXPECT_TRUE(Complains(Check(mask::Causal(both)), {"align", "offset", "only one"}));
  const Ints each = {0, 1}, three = {0, 1, 2};
  mask::Diagonal offsets{ConstTensor(each)};
  EXPECT_TRUE(Check(mask::Causal(offsets)).ok());
  offsets.offset = 1;
  EXPECT_TRUE(Complains(Check(mask::Causal(offsets)), {"one per batch entry"}));
  EXPECT_TRUE(Complains(Check(mask::Causal(ConstTensor(three))), {"causal: offset", "[3]", "[2]"}));
  EXPECT_TRUE(Complains(Check(mask::Causal(static_cast<Align>(9))), {"align is 9"}));
}

TEST(CheckMaskTest, WindowSides) {
  EXPECT_TRUE(CheckSquare(mask::Window(-1, INT64_MAX)).ok());
  EXPECT_TRUE(Complains(CheckSquare(mask::Window(-2, 0)), {"window: left is -2", "-1"}));
  EXPECT_TRUE(Complains(CheckSquare(mask::Window(0, -3)), {"window: right is -3", "-1"}));
}

TEST(CheckMaskTest, DocumentIdsHaveBothShapes) {
  const Ints q(kBatch * kQ), k(kBatch * kK);
  const ConstTensor q_ids(q.data(), {kBatch, kQ}), k_ids(k.data(), {kBatch, kK});
  EXPECT_TRUE(Check(mask::Documents(q_ids, k_ids)).ok());
  EXPECT_TRUE(Complains(Check(mask::Documents(k_ids, k_ids)), {"q_ids", "[2, 6]", "[2, 5]"}));
  EXPECT_TRUE(Complains(Check(mask::Documents(q_ids, q_ids)), {"k_ids", "[2, 5]", "[2, 6]"}));
}

TEST(CheckMaskTest, BoundariesRiseFromZeroToTheLength) {
  const Ints good = {0, 1, 1, 4}, late = {1, 2, 3, 4}, falling = {0, 3, 2, 4},
             short_one = {0, 1, 1, 3}, few = {0, 4};
  const auto check = [&](const Ints& q, const Ints& k) {
    return CheckSquare(mask::DocumentsFromBoundaries(q, k));
  };
  EXPECT_TRUE(check(good, good).ok());
  EXPECT_TRUE(Complains(check(late, good), {"cu_seqlens_q[0] is 1"}));
  EXPECT_TRUE(Complains(check(good, falling), {"cu_seqlens_k[2] is 2", "3"}));
  EXPECT_TRUE(Complains(check(short_one, good), {"cu_seqlens_q[last] is 3", "4"}));
  EXPECT_TRUE(Complains(check(good, few), {"cu_seqlens_k", "2 elements", "4"}));
  EXPECT_TRUE(Complains(check({}, good), {"cu_seqlens_q", "at least one"}));
  EXPECT_TRUE(Complains(Check(mask::DocumentsFromBoundaries(good, good)), {"B is 2", "ids"}));
}

TEST(CheckMaskTest, DenseAxesAreNamed) {
  EXPECT_TRUE(Check(mask::Dense(Bools({kBatch, kHeads, kQ, kK}))).ok());
  EXPECT_TRUE(Check(mask::Dense(Bools({1, 1, kQ, 1}))).ok());
  EXPECT_TRUE(Check(mask::Dense(Bools({kHeads, kK}), "hk")).ok());
  EXPECT_TRUE(Complains(Check(mask::Dense(Bools({kQ, kK}))), {"axes", "rank 2", "bhqk"}));
  for (const char* axes : {"kq", "qq", "qx", "q", "bqk"}) {
    EXPECT_TRUE(Complains(Check(mask::Dense(Bools({kQ, kK}), axes)), {"axes", axes, "subset"}));
  }
}

TEST(CheckMaskTest, DenseSizesMatchOrAreOne) {
  EXPECT_TRUE(Complains(Check(mask::Dense(Bools({kQ, kQ}), "qk")), {"'k'", "size 5", "6 or 1"}));
  EXPECT_TRUE(Complains(Check(mask::Dense(Bools({0, kK}), "qk")), {"'q'", "size 0", "5 or 1"}));
  const ConstTensor null(nullptr, DType::kBool, {kQ, kK});
  EXPECT_TRUE(Complains(Check(mask::Dense(null, "qk")), {"null"}));
}

TEST(CheckMaskTest, NumbersAreNotADenseMask) {
  const std::vector<int32_t> ints(kQ * kK, 1);
  const Status status = Check(mask::Dense(ConstTensor(ints.data(), {kQ, kK}), "qk"));
  EXPECT_TRUE(Complains(status, {"mask", "i32", "bool", "!= 0", "bias"}));
}

TEST(CheckMaskTest, EmptyProblemsNeedNoData) {
  Problem problem = test::MakeProblem(0, 0, 1);
  problem.batch = 0;
  const ConstTensor ids(nullptr, DType::kI32, {0, 0}), offsets(nullptr, DType::kI64, {0});
  const Mask mask = mask::Documents(ids, ids) & mask::Causal(offsets) &
                    mask::Dense(ConstTensor(nullptr, DType::kBool, {0, 1, 0, 0}));
  EXPECT_TRUE(CheckMask(problem, mask).ok()) << CheckMask(problem, mask).message();
}

TEST(ShapeTextTest, ListsSizes) {
  EXPECT_EQ(ShapeText(Bools({2, 3})), "[2, 3]");
  EXPECT_EQ(ShapeText({}), "[]");
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
