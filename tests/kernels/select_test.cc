// Hostile values: NaN, Inf and huge numbers in masked and in attended data give the bits of the
// reference, and masked memory changes nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "skipattn/attention.h"
#include "tests/attention_case.h"
#include "tests/random_mask.h"

namespace skipattn::test {
namespace {

float HostileValue(Rng& rng) {
  float negative_nan;
  const uint32_t bits = 0xffc12345u;
  std::memcpy(&negative_nan, &bits, sizeof(bits));
  const float values[] = {NAN,   negative_nan, INFINITY, -INFINITY, 1e30f, -1e30f,
                          3e38f, -3e38f,       1e-40f,   -1e-44f,   -0.0f};
  return values[Uniform(rng, 0, static_cast<int64_t>(std::size(values)) - 1)];
}

Problem SmallProblem(Rng& rng) {
  Problem p;
  p.batch = PickOf(rng, {1, 2});
  p.kv_heads = PickOf(rng, {1, 2});
  p.heads = p.kv_heads * PickOf(rng, {1, 2});
  p.q_len = PickOf(rng, {1, 9, 17, 40, 70});
  p.k_len = OneIn(rng, 2) ? p.q_len : PickOf(rng, {1, 5, 64, 130, 270});
  p.dim = PickOf(rng, {1, 4, 8, 12});
  p.v_dim = PickOf(rng, {1, 5, 8, 16, 19});
  return p;
}

/// Writes hostile values at `count` random places of a tensor.
void Poison(Rng& rng, FloatTensor& tensor, int64_t count) {
  for (int64_t axis : tensor.shape) {
    if (axis == 0) return;
  }
  for (int64_t n = 0; n < count; ++n) {
    float* row =
        tensor.Row(Uniform(rng, 0, tensor.shape[0] - 1), Uniform(rng, 0, tensor.shape[1] - 1),
                   Uniform(rng, 0, tensor.shape[2] - 1));
    row[Uniform(rng, 0, tensor.shape[3] - 1)] = HostileValue(rng);
  }
}

/// Runs every exact target, configuration and both kinds of skipping.
void ExpectOnAllConfigs(AttentionCase& data, const Mask& mask, AttentionOptions options,
                        const Outputs& want) {
  for (const TargetConfig& one : AllConfigs()) {
    if (!one.exact) continue;
    SCOPED_TRACE(one.target + " " + one.config);
    options.target = one.target;
    options.config = one.config;
    for (Skipping skipping : {Skipping::kOn, Skipping::kOff}) {
      options.skipping = skipping;
      const Result<Plan> plan = MakePlan(data.problem, mask, options);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_TRUE(SameBits(data.Run(*plan), want)) << "skipping " << static_cast<int>(skipping);
    }
  }
}

TEST(SelectTest, HostileValuesAnywhereGiveTheReferencesBits) {
  for (uint64_t seed = 0; seed < 150; ++seed) {
    Rng rng(seed);
    const Problem problem = SmallProblem(rng);
    const RandomMask random(rng, problem);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + random.text);
    AttentionCase data(rng, problem);
    Poison(rng, data.v, PickOf(rng, {0, 1, 2, 8}));
    if (OneIn(rng, 2)) Poison(rng, data.k, PickOf(rng, {1, 2}));
    if (OneIn(rng, 3)) Poison(rng, data.q, 1);
    AttentionOptions options;
    options.threads = 1;
    if (OneIn(rng, 2)) options.empty_rows = EmptyRows::kKeep;
    const Result<Reference> reference = Reference::Make(problem, random.mask, options);
    ASSERT_TRUE(reference.ok());
    ExpectOnAllConfigs(data, random.mask, options, data.Exact(*reference));
    if (HasFatalFailure()) return;
  }
}

TEST(SelectTest, WhatNobodyAttendsChangesNothing) {
  for (uint64_t seed = 1000; seed < 1060; ++seed) {
    Rng rng(seed);
    const Problem p = SmallProblem(rng);
    const RandomMask random(rng, p);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + random.text);
    AttentionCase data(rng, p);
    AttentionOptions options;
    options.threads = 1;
    const Outputs want = data.Exact(*Reference::Make(p, random.mask, options));
    const int64_t group = p.heads / p.kv_heads;
    std::vector<bool> row_live(static_cast<size_t>(p.batch * p.heads * p.q_len));
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t g = 0; g < p.kv_heads; ++g) {
        for (int64_t j = 0; j < p.k_len; ++j) {
          bool live = false;
          for (int64_t h = g * group; h < (g + 1) * group; ++h) {
            for (int64_t i = 0; i < p.q_len; ++i) {
              if (!random.Allows(b, h, i, j)) continue;
              live = true;
              row_live[static_cast<size_t>((b * p.heads + h) * p.q_len + i)] = true;
            }
          }
          if (live) continue;
          std::fill_n(data.k.Row(b, g, j), p.dim, HostileValue(rng));
          std::fill_n(data.v.Row(b, g, j), p.v_dim, HostileValue(rng));
        }
      }
    }
    for (size_t n = 0; n < row_live.size(); ++n) {
      if (row_live[n]) continue;
      const int64_t row = static_cast<int64_t>(n);
      std::fill_n(data.q.Row(row / p.q_len / p.heads, row / p.q_len % p.heads, row % p.q_len),
                  p.dim, NAN);
    }
    ExpectOnAllConfigs(data, random.mask, options, want);
    if (HasFatalFailure()) return;
  }
}

// One key's v is Inf; half the rows of a tile attend it, the others do not.
TEST(SelectTest, AnInfThatSomeRowsAttendStaysWithThem) {
  Rng rng(5);
  Problem p;
  p.batch = p.heads = p.kv_heads = 1;
  p.q_len = p.k_len = 32;
  p.dim = 8;
  p.v_dim = 8;
  AttentionCase data(rng, p);
  data.v.Row(0, 0, 16)[3] = INFINITY;
  data.v.Row(0, 0, 20)[5] = NAN;
  for (const TargetConfig& one : AllConfigs()) {
    SCOPED_TRACE(one.target + " " + one.config);
    AttentionOptions options;
    options.target = one.target;
    options.config = one.config;
    Outputs got = data.Run(*MakePlan(p, mask::Causal(), options));
    for (int64_t i = 0; i < p.q_len; ++i) {
      const float* row = got.out.Row(0, 0, i);
      for (int64_t d = 0; d < p.v_dim; ++d) {
        const bool hostile = (d == 3 && i >= 16) || (d == 5 && i >= 20);
        EXPECT_EQ(std::isfinite(row[d]), !hostile) << i << " " << d;
      }
      EXPECT_TRUE(std::isfinite(*got.lse.Row(0, 0, i)));
    }
  }
}

// The first chunks of late rows of a window hold none of their keys.
TEST(SelectTest, RowsWhoseFirstChunksAreEmpty) {
  Rng rng(6);
  Problem p;
  p.batch = 1;
  p.heads = p.kv_heads = 1;
  p.q_len = p.k_len = 520;
  p.dim = 4;
  p.v_dim = 9;
  AttentionCase data(rng, p);
  AttentionOptions options;
  const Mask band = mask::Window(9, 0);
  const Outputs want = data.Exact(*Reference::Make(p, band, options));
  ExpectOnAllConfigs(data, band, options, want);
}

}  // namespace
}  // namespace skipattn::test
