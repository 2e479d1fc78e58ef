// Counters of a plan. They are how a test notices that skipping has silently stopped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan_data.h"
#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::FloorMod;
using test::SizesOf;

PlanData Build(const Problem& problem, const Mask& mask, int64_t vector_lanes = 8, int heights = 1,
               Skipping skipping = Skipping::kOn) {
  TileParams params;
  params.vector_lanes = vector_lanes;
  params.heights = {heights, {1.3f, 2.3f, 3.3f, 4.3f}};
  AttentionOptions options;
  options.skipping = skipping;
  return BuildPlan(problem, mask, options, params, test::PlainScan);
}

/// Blocks of one tile, key by key: skipped, full and partial.
void CountTile(const Plane& plane, const Tile& tile, int64_t keys, PlanStats& stats) {
  std::vector<int> kind(static_cast<size_t>(keys));  // 0 = not read, 1 = full, 2 = masked
  for (int64_t s = tile.first_segment; s < tile.first_segment + tile.segment_count; ++s) {
    const Segment& segment = plane.segments[static_cast<size_t>(s)];
    for (int64_t j = segment.begin; j < segment.end; ++j) {
      kind[static_cast<size_t>(j)] = segment.kind == SegmentKind::kFull ? 1 : 2;
    }
  }
  int most = 0;
  for (int64_t j = 0; j < keys; ++j) {
    most = std::max(most, kind[static_cast<size_t>(j)]);
    if (j + 1 < keys && FloorMod(j + 1 - tile.origin, kChunk) != 0) continue;
    ++(most == 0 ? stats.skipped_blocks : most == 1 ? stats.full_blocks : stats.partial_blocks);
    most = 0;
  }
}

void ExpectStats(const PlanData& plan, const test::RandomMask& random) {
  const Problem& p = plan.problem;
  PlanStats expected;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        int64_t keys = 0;
        for (int64_t j = 0; j < p.k_len; ++j) keys += random.Allows(b, h, i, j) ? 1 : 0;
        expected.live_pairs += keys;
        expected.empty_rows += keys == 0 ? 1 : 0;
      }
    }
    for (int64_t slot = 0; slot < plan.slots; ++slot) {
      const Plane& plane = plan.PlaneOf(b, slot);
      for (const Tile& tile : plane.tiles) CountTile(plane, tile, p.k_len, expected);
      expected.tiles += static_cast<int64_t>(plane.tiles.size());
    }
  }
  const PlanStats stats = CountWork(plan);
  EXPECT_EQ(stats.live_pairs, expected.live_pairs);
  EXPECT_EQ(stats.dense_pairs, p.batch * p.heads * p.q_len * p.k_len);
  EXPECT_EQ(stats.empty_rows, expected.empty_rows);
  EXPECT_EQ(stats.tiles, expected.tiles);
  EXPECT_EQ(stats.skipped_blocks, expected.skipped_blocks);
  EXPECT_EQ(stats.full_blocks, expected.full_blocks);
  EXPECT_EQ(stats.partial_blocks, expected.partial_blocks);
}

TEST(StatsTest, RandomMasks) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    Problem problem = test::RandomSizes(rng, 40);
    if (test::OneIn(rng, 2)) problem.k_len = test::RandomSize(rng, 120, 400);
    const test::RandomMask random(rng, problem);
    SCOPED_TRACE(random.text);
    ExpectStats(
        Build(problem, random.mask, test::PickOf(rng, {4, 8}), static_cast<int>(seed % 4) + 1,
              seed % 5 == 0 ? Skipping::kOff : Skipping::kOn),
        random);
    if (HasFailure()) return;
  }
}

TEST(StatsTest, NoMask) {
  const PlanStats stats = CountWork(Build(SizesOf(2, 3, 3, 64, 300), {}));
  EXPECT_EQ(stats.live_pairs, 2 * 3 * 64 * 300);
  EXPECT_EQ(stats.dense_pairs, stats.live_pairs);
  EXPECT_EQ(stats.empty_rows, 0);
  EXPECT_EQ(stats.tiles, 2 * 3 * 8);
  EXPECT_EQ(stats.full_blocks, stats.tiles * 3);
  EXPECT_EQ(stats.skipped_blocks + stats.partial_blocks, 0);
}

TEST(StatsTest, PredictedShareOfTheWorkWithoutAMask) {
  const Problem problem = SizesOf(2, 2, 1, 512, 512);
  EXPECT_DOUBLE_EQ(PredictedShare(Build(problem, {})), 1);
  const std::vector<int64_t> whole_and_half = {512, 256}, none = {0, 0};
  const auto padded = [&](const std::vector<int64_t>& n) {
    return PredictedShare(Build(problem, mask::KeyLengths(n) & mask::QueryLengths(n)));
  };
  EXPECT_NEAR(padded(whole_and_half), (1 + 0.25) / 2, 0.01);
  EXPECT_EQ(padded(none), 0);
  EXPECT_NEAR(PredictedShare(Build(problem, mask::Causal())), 0.5, 0.03);
  EXPECT_EQ(PredictedShare(Build(SizesOf(1, 1, 1, 3, 0), {})), 0);
}

TEST(StatsTest, CausalSkipsWhatIsAboveTheDiagonal) {
  const PlanStats stats = CountWork(Build(SizesOf(1, 2, 1, 512, 512), mask::Causal()));
  EXPECT_EQ(stats.live_pairs, 2 * 512 * 513 / 2);
  // Two heads side by side: 4 queries a tile, 32 tiles for each of 4 x 4 blocks of 128.
  EXPECT_EQ(stats.tiles, 128);
  EXPECT_EQ(stats.skipped_blocks, 32 * 6);
  EXPECT_EQ(stats.full_blocks, 32 * 6);
  EXPECT_EQ(stats.partial_blocks, 32 * 4);
}

TEST(StatsTest, WindowSkipsWhatIsOutside) {
  const PlanStats stats = CountWork(Build(SizesOf(1, 1, 1, 1024, 1024), mask::Window(127, 0)));
  EXPECT_EQ(stats.live_pairs, 128 * 129 / 2 + (1024 - 128) * 128);
  EXPECT_EQ(stats.tiles, 128);
  // A tile of 8 queries sees 135 keys: two chunks at most.
  EXPECT_EQ(stats.skipped_blocks, 16 * 7 + 112 * 6);
}

TEST(StatsTest, PaddingSkipsRowsAndBlocks) {
  // Three quarters of the second entry are padding, on either side.
  for (const bool left : {false, true}) {
    SCOPED_TRACE(left ? "left" : "right");
    const std::vector<int64_t> begin = {0, left ? 384 : 0}, end = {512, left ? 512 : 128};
    const Mask keys = mask::KeyRange(begin, end), queries = mask::QueryRange(begin, end);
    const Problem problem = SizesOf(2, 1, 1, 512, 512);
    const PlanStats both = CountWork(Build(problem, keys & queries));
    EXPECT_EQ(both.live_pairs, 512 * 512 + 128 * 128);
    EXPECT_EQ(both.empty_rows, 384);
    EXPECT_EQ(both.tiles, 64 + 16);
    EXPECT_EQ(both.full_blocks, 64 * 4 + 16);
    EXPECT_EQ(both.skipped_blocks, 16 * 3);
    EXPECT_EQ(both.partial_blocks, 0);

    const PlanStats keys_only = CountWork(Build(problem, keys));
    EXPECT_EQ(keys_only.empty_rows, 0);
    EXPECT_EQ(keys_only.full_blocks, 64 * 4 + 64);
    EXPECT_EQ(keys_only.skipped_blocks, 64 * 3);
  }
}

TEST(StatsTest, EveryFormOfPaddingSkipsAlike) {
  constexpr int64_t kLength = 512, kLive = 128;
  const Problem problem = SizesOf(1, 2, 2, kLength, kLength);
  std::vector<uint8_t> valid(kLength), dense(kLength * kLength);
  for (int64_t i = 0; i < kLive; ++i) {
    valid[static_cast<size_t>(i)] = 1;
    for (int64_t j = 0; j < kLive; ++j) dense[static_cast<size_t>(i * kLength + j)] = 1;
  }
  const std::vector<int64_t> lengths = {kLive};
  const ConstTensor flags(valid.data(), DType::kBool, {1, kLength});
  const Mask forms[] = {
      mask::Padding(flags), mask::KeyValid(flags) & mask::QueryValid(flags),
      mask::KeyLengths(lengths) & mask::QueryLengths(lengths),
      mask::Dense(flags, "bk") & mask::Dense(flags, "bq"),
      mask::Dense(ConstTensor(dense.data(), DType::kBool, {kLength, kLength}), "qk")};
  for (const Mask& form : forms) {
    SCOPED_TRACE(&form - forms);
    const PlanStats stats = CountWork(Build(problem, form));
    EXPECT_EQ(stats.live_pairs, 2 * kLive * kLive);
    EXPECT_EQ(stats.empty_rows, 2 * (kLength - kLive));
    EXPECT_EQ(stats.tiles, 2 * 16);
    EXPECT_EQ(stats.full_blocks, 2 * 16);
    EXPECT_EQ(stats.skipped_blocks, 2 * 16 * 3);
    EXPECT_EQ(stats.partial_blocks, 0);
  }
}

TEST(StatsTest, PackedDocumentsSkipEachOther) {
  const std::vector<int64_t> cuts = {0, 128, 256, 384, 512};
  const PlanStats stats =
      CountWork(Build(SizesOf(1, 1, 1, 512, 512), mask::DocumentsFromBoundaries(cuts, cuts)));
  EXPECT_EQ(stats.live_pairs, 4 * 128 * 128);
  EXPECT_EQ(stats.full_blocks, 64);
  EXPECT_EQ(stats.skipped_blocks, 64 * 3);
  EXPECT_EQ(stats.partial_blocks, 0);
}

TEST(StatsTest, APrefixSkipsWhatIsBehindItAndTheDiagonal) {
  const std::vector<int64_t> prefix = {256};
  const Problem problem = SizesOf(1, 1, 1, 512, 512);
  for (const Mask& mask : {mask::PrefixCausal(prefix), mask::KeyLengths(prefix) | mask::Causal(),
                           ~(~mask::KeyLengths(prefix) & ~mask::Causal())}) {
    const PlanStats stats = CountWork(Build(problem, mask));
    EXPECT_EQ(stats.live_pairs, 256 * 256 + (257 + 512) * 256 / 2);
    EXPECT_EQ(stats.full_blocks, 32 * 2 + 16 * 2 + 16 * 3);
    EXPECT_EQ(stats.partial_blocks, 32);
    EXPECT_EQ(stats.skipped_blocks, 32 * 2 + 16);
  }
}

TEST(StatsTest, SinksAndAWindowSkipWhatIsBetween) {
  const std::vector<int64_t> sinks = {4};
  const PlanStats stats =
      CountWork(Build(SizesOf(1, 1, 1, 2048, 2048),
                      mask::Causal() & (mask::Window(127, 0) | mask::KeyLengths(sinks))));
  // A tile of 8 queries sees 135 keys, in two chunks at most, and the sinks in full.
  EXPECT_EQ(stats.tiles, 256);
  EXPECT_EQ(stats.full_blocks, 14 * 16);
  EXPECT_EQ(stats.partial_blocks, 16 + 15 * 16 * 2);
  EXPECT_EQ(stats.skipped_blocks, 256 * 16 - stats.full_blocks - stats.partial_blocks);
}

TEST(StatsTest, TreesOfRunsSkipAsTermsDo) {
  const std::vector<int64_t> cuts = {0, 128, 256, 384, 512};
  std::vector<uint8_t> diagonal(16), triangle(16);
  for (size_t n = 0; n < 16; ++n) {
    diagonal[n] = n / 4 == n % 4;
    triangle[n] = n / 4 > n % 4;
  }
  const auto blocks = [](const std::vector<uint8_t>& values) {
    return mask::Blocks(ConstTensor(values.data(), DType::kBool, {4, 4}), "qk", 128, 128);
  };
  const Problem problem = SizesOf(1, 1, 1, 512, 512);
  const Mask documents = mask::DocumentsFromBoundaries(cuts, cuts);
  const auto same_document = [](auto, auto, auto i, auto j) { return i / 128 == j / 128; };
  for (const Mask& mask : {documents, blocks(diagonal), ~~documents, ~~~~blocks(diagonal),
                           documents & blocks(diagonal), ~(~documents | ~blocks(diagonal)),
                           mask::Function(same_document)}) {
    const PlanStats stats = CountWork(Build(problem, mask));
    EXPECT_EQ(stats.full_blocks, 64);
    EXPECT_EQ(stats.skipped_blocks, 64 * 3);
    EXPECT_EQ(stats.partial_blocks, 0);
  }
  const PlanStats others = CountWork(Build(problem, ~documents));
  EXPECT_EQ(others.full_blocks, 64 * 3);
  EXPECT_EQ(others.skipped_blocks, 64);
  // The blocks below the diagonal and causal blocks on it: causal.
  const PlanStats causal =
      CountWork(Build(problem, blocks(triangle) | (blocks(diagonal) & mask::Causal())));
  EXPECT_EQ(causal.full_blocks, 16 * 6);
  EXPECT_EQ(causal.partial_blocks, 64);
  EXPECT_EQ(causal.skipped_blocks, 16 * 6);
}

TEST(StatsTest, SkippingOffSkipsNothing) {
  const std::vector<int64_t> lengths = {128};
  const PlanStats stats =
      CountWork(Build(SizesOf(1, 1, 1, 512, 512), mask::KeyLengths(lengths), 8, 1, Skipping::kOff));
  EXPECT_EQ(stats.live_pairs, 512 * 128);
  EXPECT_EQ(stats.skipped_blocks, 0);
  EXPECT_EQ(stats.full_blocks, 64);
  EXPECT_EQ(stats.partial_blocks, 64 * 3);
}

TEST(StatsTest, NothingToCount) {
  EXPECT_EQ(CountWork(Build(SizesOf(0, 1, 1, 4, 4), {})).dense_pairs, 0);
  const PlanStats stats = CountWork(Build(SizesOf(2, 3, 1, 4, 0), {}));
  EXPECT_EQ(stats.empty_rows, 2 * 3 * 4);
  EXPECT_EQ(stats.tiles + stats.skipped_blocks + stats.full_blocks + stats.partial_blocks, 0);
}

}  // namespace
}  // namespace skipattn::internal
