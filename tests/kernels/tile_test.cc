// The main test: every kernel gives the bits of the exact reference, for random masks and sizes.
#include "kernels/tile.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "skipattn/attention.h"
#include "tests/attention_case.h"
#include "tests/random_bias.h"
#include "tests/random_mask.h"

namespace skipattn::test {
namespace {

Problem RandomProblem(Rng& rng) {
  Problem p;
  p.batch = PickOf(rng, {1, 1, 2, 3});
  p.kv_heads = PickOf(rng, {1, 1, 2});
  p.heads = p.kv_heads * PickOf(rng, {1, 1, 2, 3, 5});
  p.q_len = PickOf(rng, {1, 2, 7, 8, 9, 15, 16, 17, 31, 33, 40, 47, 63, 64, 65, 100});
  p.k_len =
      OneIn(rng, 2) ? p.q_len : PickOf(rng, {1, 2, 3, 5, 31, 64, 65, 127, 128, 129, 200, 257, 300});
  p.dim = PickOf(rng, {1, 2, 3, 4, 5, 7, 8, 16, 24, 40});
  p.v_dim = OneIn(rng, 2) ? p.dim : PickOf(rng, {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 40, 65, 72});
  return p;
}

/// Few rows to a key head, of any group, with dims from the smallest to those of latent attention.
Problem FewRowsProblem(Rng& rng) {
  constexpr int64_t kMostProducts = 1'000'000;
  Problem p;
  p.batch = PickOf(rng, {1, 1, 2});
  p.kv_heads = PickOf(rng, {1, 1, 2});
  p.heads = p.kv_heads * PickOf(rng, {1, 1, 2, 3, 4, 4, 5, 6, 7, 8, 32});
  p.q_len = PickOf(rng, {1, 1, 1, 2, 3, 4, 5, 8, 13, 16});
  p.k_len = PickOf(rng, {1, 2, 7, 8, 9, 15, 16, 17, 31, 100, 127, 128, 129, 143, 257, 400, 700});
  p.dim = PickOf(rng, {1, 2, 3, 4, 5, 7, 8, 20, 33, 64, 80, 128, 192, 576});
  p.v_dim = OneIn(rng, 2) ? p.dim : PickOf(rng, {1, 3, 4, 8, 17, 40, 64, 65, 128, 200, 512});
  while (p.batch * p.heads * p.q_len * p.k_len * (p.dim + p.v_dim) > kMostProducts) {
    if (p.batch > 1) {
      p.batch = 1;
    } else if (p.q_len > 1) {
      p.q_len = (p.q_len + 1) / 2;
    } else {
      p.k_len = (p.k_len + 1) / 2;
    }
  }
  return p;
}

std::string Text(const Problem& p) {
  std::string text;
  for (int64_t n : {p.batch, p.heads, p.kv_heads, p.q_len, p.k_len, p.dim, p.v_dim}) {
    text += std::to_string(n) + " ";
  }
  return text;
}

/// Results of a target without fma: within the bound of the exact ones, around float64.
void ExpectWithinBound(AttentionCase& data, const Reference& reference, Outputs& got) {
  const RunArgs args = data.Args(got);
  const Problem& p = data.problem;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        const Result<Float64Row> want = reference.Row64(args, b, h, i);
        ASSERT_TRUE(want.ok());
        for (int64_t d = 0; d < p.v_dim; ++d) {
          ASSERT_NEAR(got.out.Row(b, h, i)[d], want->out[static_cast<size_t>(d)],
                      2 * want->out_bound);
        }
        const float lse = *got.lse.Row(b, h, i);
        if (std::isinf(want->lse)) {
          ASSERT_EQ(lse, want->lse);
        } else {
          ASSERT_NEAR(lse, want->lse, 2 * want->lse_bound);
        }
      }
    }
  }
}

/// One problem on every target and configuration, skipping on and off.
void ExpectReferenceBits(uint64_t seed, Problem (*draw)(Rng&)) {
  Rng rng(seed);
  Problem problem = draw(rng);
  problem.sinks = OneIn(rng, 3);
  const RandomMask random(rng, problem);
  RandomBias bias(rng, problem);
  problem.bias = bias.view.given();
  SCOPED_TRACE("seed " + std::to_string(seed) + ": " + Text(problem) + random.text + "; " +
               bias.text);
  AttentionCase data(rng, problem);
  data.bias = bias.view;
  AttentionOptions options;
  options.bias_is_mask = !OneIn(rng, 5);
  options.threads = static_cast<int>(PickOf(rng, {1, 1, 1, 5}));  // 5: long key ranges are split
  if (OneIn(rng, 3)) options.scale = 0.3;
  if (OneIn(rng, 3)) options.softcap = OneIn(rng, 2) ? 0.7 : 20;
  options.empty_rows = static_cast<EmptyRows>(Uniform(rng, 0, 3));
  if (OneIn(rng, 4)) options.key_origin = {Uniform(rng, -300, 300)};
  const Result<Reference> reference = Reference::Make(problem, random.mask, bias.bias, options);
  ASSERT_TRUE(reference.ok()) << reference.status().message();
  const Outputs want = data.Exact(*reference);
  bias.Spoil(rng, problem, [&](int64_t b, int64_t h, int64_t i, int64_t j) {
    return !random.Allows(b, h, i, j);
  });
  for (const TargetConfig& one : AllConfigs()) {
    SCOPED_TRACE(one.target + " " + one.config);
    options.target = one.target;
    options.config = one.config;
    for (Skipping skipping : {Skipping::kOn, Skipping::kOff}) {
      options.skipping = skipping;
      const Result<Plan> plan = MakePlan(problem, random.mask, bias.bias, options);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_EQ(plan->stats().target, one.target);
      ASSERT_EQ(plan->stats().config, one.config);
      Outputs got = data.Run(*plan);
      if (one.exact) {
        ASSERT_TRUE(SameBits(got, want)) << "skipping " << static_cast<int>(skipping);
      } else if (options.empty_rows == EmptyRows::kZero && bias.tame()) {
        ExpectWithinBound(data, *reference, got);
      }
    }
  }
}

class TileTest : public ::testing::TestWithParam<int> {};

TEST_P(TileTest, GivesTheBitsOfTheReference) {
  for (int n = 0; n < 40; ++n) {
    ExpectReferenceBits(static_cast<uint64_t>(GetParam() * 1000 + n), RandomProblem);
    if (HasFatalFailure()) return;
  }
}

TEST_P(TileTest, GivesTheBitsOfTheReferenceForFewRows) {
  for (int n = 0; n < 30; ++n) {
    ExpectReferenceBits(static_cast<uint64_t>(GetParam() * 1000 + n), FewRowsProblem);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Random, TileTest, ::testing::Range(0, 8));

// Long enough for several chunks, dims as models have them, all heights.
TEST(TileTest, ModelSizes) {
  Rng rng(7);
  for (const auto& [q_len, k_len, dim, v_dim] :
       std::vector<std::array<int64_t, 4>>{{130, 400, 64, 64},
                                           {75, 300, 128, 128},
                                           {51, 260, 80, 80},
                                           {33, 140, 192, 128},
                                           {66, 129, 96, 40},
                                           {1, 700, 128, 128},
                                           {2, 300, 576, 512},
                                           {4, 513, 64, 64},
                                           {7, 260, 192, 128}}) {
    Problem problem;
    problem.batch = 1;
    problem.heads = problem.kv_heads = 1;
    problem.q_len = q_len;
    problem.k_len = k_len;
    problem.dim = dim;
    problem.v_dim = v_dim;
    AttentionCase data(rng, problem);
    for (const Mask& mask : {Mask(), mask::Causal(mask::Align::kBottomRight),
                             mask::Window(100, 3, mask::Align::kBottomRight)}) {
      AttentionOptions options;
      const Outputs want = data.Exact(*Reference::Make(problem, mask, options));
      for (const TargetConfig& one : AllConfigs()) {
        if (!one.exact) continue;
        SCOPED_TRACE(one.target + " " + one.config + ": " + Text(problem));
        options.target = one.target;
        options.config = one.config;
        ASSERT_TRUE(SameBits(data.Run(*MakePlan(problem, mask, options)), want));
      }
    }
  }
}

TEST(TileTest, RunsOnAtLeastOneExactTarget) {
  std::set<std::string> exact;
  for (const TargetConfig& one : AllConfigs()) {
    if (one.exact) exact.insert(one.target);
  }
  EXPECT_FALSE(exact.empty()) << "nothing above was compared bit for bit";
}

}  // namespace
}  // namespace skipattn::test
