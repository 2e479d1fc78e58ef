// Biases: checks of their arguments, and the view of a run.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "plan/bias_term.h"
#include "tests/test_util.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using test::Complains;

Problem SomeProblem() {
  Problem p = test::MakeProblem(5, 6, 4);
  p.batch = 2;
  p.heads = p.kv_heads = 3;
  return p;
}

Status Check(const Bias& bias, const Problem& problem = SomeProblem()) {
  return CheckBias(problem, bias);
}

const std::vector<float> kFloats(500, 1.0f);

ConstTensor Floats(std::initializer_list<int64_t> shape) {
  return ConstTensor(kFloats.data(), shape);
}

TEST(BiasTest, AcceptsWhatFits) {
  EXPECT_TRUE(Check({}).ok());
  EXPECT_TRUE(Check(bias::Dense(Floats({2, 3, 5, 6}))).ok());
  EXPECT_TRUE(Check(bias::Dense(Floats({1, 3, 1, 6}))).ok());
  EXPECT_TRUE(Check(bias::Dense(Floats({5, 6}), "qk")).ok());
  EXPECT_TRUE(Check(bias::Dense(Floats({2, 1}), "bk")).ok());
  EXPECT_TRUE(Check(bias::Alibi(Floats({3}), mask::Align::kBottomRight)).ok());
  EXPECT_TRUE(Check(bias::Relative(Floats({3, 7}), -4)).ok());
}

TEST(BiasTest, DenseArraysAreNamed) {
  EXPECT_TRUE(Complains(Check(bias::Dense({})), {"bias is not given"}));
  EXPECT_TRUE(Complains(Check(bias::Dense(Floats({4, 6}), "qk")),
                        {"bias: axis 'q' is of size 4", "5 or 1"}));
  EXPECT_TRUE(Complains(Check(bias::Dense(Floats({5, 6}))), {"bias: axes is not given", "qk"}));
  EXPECT_TRUE(Complains(Check(bias::Dense(Floats({6, 5}), "kq")), {"bias: axes is \"kq\""}));
  EXPECT_TRUE(Complains(Check(bias::Dense(Floats({5, 6}), "hqk")), {"bias: axes is \"hqk\""}));
  const std::vector<uint8_t> bools(30);
  EXPECT_TRUE(Complains(Check(bias::Dense(ConstTensor(bools.data(), DType::kBool, {5, 6}), "qk")),
                        {"bias is bool", "a bool array is a mask"}));
  EXPECT_TRUE(Complains(Check(bias::Dense(ConstTensor(kFloats.data(), DType::kBF16, {5, 6}), "qk")),
                        {"bias is bf16, expected f32"}));
  EXPECT_TRUE(Complains(Check(bias::Dense(ConstTensor(nullptr, DType::kF32, {5, 6}), "qk")),
                        {"bias is a null pointer"}));
}

TEST(BiasTest, SlopesAndTablesAreNamed) {
  EXPECT_TRUE(Complains(Check(bias::Alibi(Floats({2}), 0)),
                        {"alibi: slopes is of shape [2]", "[heads] = [3]"}));
  EXPECT_TRUE(Complains(Check(bias::Relative(Floats({3}), 0)),
                        {"relative: table is of shape [3]", "[heads, R]"}));
  EXPECT_TRUE(Complains(Check(bias::Relative(Floats({3, 0}), 0)), {"[3, 0]", "1 or more"}));
  EXPECT_TRUE(Complains(Check(bias::Alibi(Floats({3}))),
                        {"alibi: Tq = 5 and Tk = 6", "top_left", "bottom_right"}));
  mask::Diagonal both = mask::Align::kTopLeft;
  both.offset = 1;
  EXPECT_TRUE(Complains(Check(bias::Relative(Floats({3, 4}), both)), {"align", "offset"}));
  EXPECT_TRUE(Complains(Check(bias::Alibi(Floats({3}), INT64_MAX)), {"alibi: offset", "2^62"}));
  Problem with_dense = SomeProblem();
  with_dense.bias = true;
  EXPECT_TRUE(Complains(Check(bias::Alibi(Floats({3}), 0), with_dense), {"bias", "only one"}));
}

TEST(BiasTest, FourAxesNameWhatIsMissing) {
  ConstTensor view = bias::FourAxes(Floats({3, 6}), "hk");
  EXPECT_EQ(view.rank, 4);
  const int64_t shape[] = {1, 3, 1, 6}, stride[] = {0, 6, 0, 1};
  for (int axis = 0; axis < 4; ++axis) {
    EXPECT_EQ(view.shape[axis], shape[axis]);
    EXPECT_EQ(view.stride[axis], stride[axis]);
  }
  EXPECT_EQ(bias::FourAxes(Floats({3, 6}), "qkb").rank, 2);
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
