// Entry points: what is given is checked, owned as promised, and reported.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <new>
#include <stdexcept>

#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

Problem Small() {
  Problem p;
  p.batch = 2;
  p.heads = 4;
  p.kv_heads = 2;
  p.q_len = p.k_len = 10;
  p.dim = p.v_dim = 8;
  return p;
}

/// Expects an error whose message holds all the words.
void ExpectError(const Status& status, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos)
        << "\"" << status.message() << "\" lacks \"" << word << "\"";
  }
}

TEST(MakePlanTest, UnknownTargetsAndConfigsListTheKnown) {
  AttentionOptions options;
  options.target = "MMX";
  ExpectError(MakePlan(Small(), Mask(), options).status(), {"target is \"MMX\"", BestTarget()});
  options.target = BestTarget();
  options.config = "9x9-9x9";
  ExpectError(MakePlan(Small(), Mask(), options).status(),
              {"config is \"9x9-9x9\"", TileConfigs()->front()});
}

TEST(MakePlanTest, BadProblemsAndOptions) {
  Problem p = Small();
  p.kv_heads = 3;
  ExpectError(MakePlan(p, Mask()).status(), {"kv_heads", "3", "4"});
  p = Small();
  p.q_len = -1;
  ExpectError(MakePlan(p, Mask()).status(), {"q_len", "-1"});
  p = Small();
  p.k_len = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_FALSE(MakePlan(p, Mask()).ok());
  AttentionOptions options;
  options.scale = NAN;
  ExpectError(MakePlan(Small(), Mask(), options).status(), {"scale"});
  options = {};
  options.key_origin = {1, 2, 3};
  ExpectError(MakePlan(Small(), Mask(), options).status(), {"key_origin", "3", "2"});
  options = {};
  options.threads = -2;
  ExpectError(MakePlan(Small(), Mask(), options).status(), {"threads", "-2"});
}

TEST(MakePlanTest, CausalNeedsAnAlignmentWhereLengthsDiffer) {
  Problem p = Small();
  p.k_len = 12;
  ExpectError(MakePlan(p, mask::Causal()).status(),
              {"causal", "10", "12", "top_left", "bottom_right"});
  EXPECT_TRUE(MakePlan(p, mask::Causal(mask::Align::kBottomRight)).ok());
  EXPECT_TRUE(MakePlan(p, mask::Causal(-3)).ok());
  mask::Diagonal both = mask::Align::kTopLeft;
  both.offset = 1;
  ExpectError(MakePlan(p, mask::Causal(both)).status(), {"causal", "both"});
}

TEST(MakePlanTest, APlanOwnsAllItNeeds) {
  Rng rng(1);
  AttentionCase data(rng, Small());
  auto lengths = std::make_unique<std::vector<int64_t>>(std::vector<int64_t>{3, 10});
  auto values = std::make_unique<std::vector<uint8_t>>(100);
  for (size_t n = 0; n < 100; ++n) (*values)[n] = n * 7 % 3 != 0;
  for (Backend backend : {Backend::kAuto, Backend::kReference}) {
    std::vector<int64_t> borrowed = *lengths;
    std::vector<uint8_t> bools = *values;
    const Mask mask = mask::KeyLengths(borrowed) &
                      mask::Dense(ConstTensor(bools.data(), DType::kBool, {10, 10}), "qk");
    AttentionOptions options;
    options.backend = backend;
    const Plan plan = *MakePlan(data.problem, mask, options);
    const Outputs before = data.Run(plan);
    std::fill(borrowed.begin(), borrowed.end(), -99);
    std::fill(bools.begin(), bools.end(), uint8_t{0});
    EXPECT_TRUE(SameBits(data.Run(plan), before));
  }
}

TEST(MakePlanTest, StridesAndPointersMayChangeFromRunToRun) {
  Rng rng(2);
  const Plan plan = *MakePlan(Small(), Mask());
  for (int n = 0; n < 6; ++n) {
    AttentionCase data(rng, Small());
    EXPECT_TRUE(SameBits(data.Run(plan), data.Exact(*Reference::Make(Small(), Mask()))));
  }
}

TEST(MakePlanTest, WrongRunsWriteNothing) {
  Rng rng(3);
  AttentionCase data(rng, Small());
  const Plan plan = *MakePlan(Small(), Mask());
  Outputs got = data.EmptyOutputs();
  RunArgs args = data.Args(got);
  args.k.shape[2] = 9;
  ExpectError(plan.Run(args), {"k", "9", "10"});
  args = data.Args(got);
  args.v.stride[3] = 2;
  ExpectError(plan.Run(args), {"v", "stride", "2", "1"});
  args = data.Args(got);
  args.q.data = nullptr;
  ExpectError(plan.Run(args), {"q", "null"});
  args = data.Args(got);
  args.out = data.v.View();
  EXPECT_FALSE(plan.Run(args).ok());
  args = data.Args(got);
  args.q.dtype = DType::kBF16;
  ExpectError(plan.Run(args), {"q", "bf16", "f32"});
  EXPECT_TRUE(SameBits(got, data.EmptyOutputs()));
}

TEST(MakePlanTest, OneShotIsPlanAndRun) {
  Rng rng(4);
  AttentionCase data(rng, Small());
  Outputs got = data.EmptyOutputs();
  const Status status = Attention(data.Args(got), mask::Causal());
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(SameBits(got, data.Exact(*Reference::Make(Small(), mask::Causal()))));
  RunArgs args = data.Args(got);
  const Result<Problem> problem = ProblemOf(args);
  ASSERT_TRUE(problem.ok());
  EXPECT_EQ(problem->heads, 4);
  EXPECT_EQ(problem->kv_heads, 2);
  args.k = ConstTensor();
  ExpectError(Attention(args), {"k", "rank"});
}

TEST(MakePlanTest, WorkspaceGrowsWithThreads) {
  AttentionOptions options;
  options.threads = 3;
  const Plan plan = *MakePlan(Small(), Mask(), options);
  EXPECT_GT(plan.workspace_bytes(1), 0u);
  EXPECT_EQ(plan.workspace_bytes(1) % 64, 0u);
  EXPECT_EQ(plan.workspace_bytes(2), 2 * plan.workspace_bytes(1));
  EXPECT_EQ(plan.workspace_bytes(), 3 * plan.workspace_bytes(1));
}

TEST(MakePlanTest, WhatAMaskFunctionThrowsBecomesAStatus) {
  const auto throwing = [](const std::function<void()>& act) {
    return mask::Function([act](int64_t b, int64_t h, int64_t i, int64_t j) {
      if (b == 1 && h == 3 && i == 9 && j == 9) act();
      return true;
    });
  };
  for (const Backend backend : {Backend::kAuto, Backend::kReference}) {
    AttentionOptions options;
    options.backend = backend;
    const auto status = [&](const Mask& mask) { return MakePlan(Small(), mask, options).status(); };
    ExpectError(status(throwing([] { throw std::runtime_error("no such row"); })),
                {"function", "no such row"});
    ExpectError(status(~throwing([] { throw 7; })), {"function", "threw"});
    EXPECT_EQ(status(throwing([] { throw std::bad_alloc(); })).code(), StatusCode::kOutOfMemory);
  }
  EXPECT_FALSE(Reference::Make(Small(), throwing([] { throw 7; })).ok());
  EXPECT_TRUE(MakePlan(Small(), throwing([] {})).ok());
}

TEST(MakePlanTest, AMaskFunctionIsNotCalledWhileRunning) {
  Rng rng(4);
  AttentionCase data(rng, Small());
  int calls = 0;
  const Mask mask = mask::Function([&](int64_t, int64_t, int64_t i, int64_t j) {
    ++calls;
    return (i + j) % 2 == 0;
  });
  const Result<Plan> plan = MakePlan(Small(), mask);
  ASSERT_TRUE(plan.ok());
  EXPECT_GT(calls, 0);
  calls = 0;
  data.Run(*plan);
  EXPECT_EQ(calls, 0);
}

// A mask in additive form: the plan knows all of it.
TEST(MakePlanTest, ABiasThatAddsNothingMayBeLeftOut) {
  Rng rng(5);
  const Problem p = Small();
  AttentionCase data(rng, p);
  std::vector<float> numbers(static_cast<size_t>(p.q_len * p.k_len));
  for (float& number : numbers) number = OneIn(rng, 3) ? -INFINITY : 0.0f;
  const ConstTensor view(numbers.data(), {1, 1, p.q_len, p.k_len});
  for (const Backend backend : {Backend::kAuto, Backend::kReference}) {
    AttentionOptions options;
    options.backend = backend;
    const Plan plan = *MakePlan(p, {}, bias::Dense(view), options);
    EXPECT_TRUE(plan.problem().bias);
    EXPECT_FALSE(plan.stats().needs_bias);
    Outputs with = data.EmptyOutputs(), without = data.EmptyOutputs(), at_once = with;
    RunArgs args = data.Args(with);
    args.bias = view;
    ASSERT_TRUE(plan.Run(args).ok());
    const Status status = plan.Run(data.Args(without));
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(SameBits(without, with));
    ASSERT_TRUE(Attention(data.Args(at_once), {}, bias::Dense(view), options).ok());
    EXPECT_TRUE(SameBits(at_once, with));
  }
  numbers[0] = 1;
  Outputs outputs = data.EmptyOutputs();
  const Plan plan = *MakePlan(p, {}, bias::Dense(view), {});
  EXPECT_TRUE(plan.stats().needs_bias);
  ExpectError(plan.Run(data.Args(outputs)), {"bias is not given"});
  EXPECT_FALSE(MakePlan(p, {})->stats().needs_bias);
}

}  // namespace
}  // namespace skipattn::test
