// Tiles: decoded back into keys and compared with the mask's predicate, lane by lane.
#include "plan/tiles.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::DecodedTile;
using test::OneIn;
using test::PickOf;
using test::RandomMask;
using test::Rng;
using test::SizesOf;
using test::Uniform;

TileParams Params(int64_t vector_lanes, int heights, int64_t heads = 1) {
  TileParams params;
  params.vector_lanes = vector_lanes;
  params.heights = {heights, {1.3f, 2.3f, 3.3f, 4.3f}};
  params.heads = heads;
  return params;
}

Plane Build(const Problem& problem, const Mask& mask, const TileParams& params) {
  return BuildTiles(RowCompiler(problem, mask, {}, test::PlainScan).Compile(0, 0), problem.k_len,
                    params);
}

/// Segments ascend without overlap, inside the keys; full ones are full.
void ExpectSegments(const Plane& plane, const Tile& tile, int64_t keys) {
  int64_t last = 0;
  for (int64_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = plane.segments.at(static_cast<size_t>(tile.first_segment + s));
    ASSERT_LE(last, segment.begin);
    ASSERT_LT(segment.begin, segment.end);
    last = segment.end;
  }
  ASSERT_LE(last, keys);
}

/// The lanes of a tile against the predicate of the plane (b, h).
void ExpectTile(const Plane& plane, const Tile& tile, const TileParams& params,
                const RandomMask& random, int64_t b, int64_t h, int64_t keys) {
  ASSERT_NO_FATAL_FAILURE(ExpectSegments(plane, tile, keys));
  const DecodedTile decoded = test::Decode(plane, tile, params.heads, keys);
  for (int64_t j = 0; j < keys; ++j) {
    bool any = params.skipping == Skipping::kOff;
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      const size_t row = static_cast<size_t>((tile.first_lane + lane) / params.heads);
      const bool attends = random.Allows(b, h, plane.queries.at(row), j);
      any = any || attends;
      ASSERT_EQ(decoded.attends[static_cast<size_t>(lane)][static_cast<size_t>(j)] != 0, attends)
          << "query " << plane.queries[row] << ", lane " << lane << ", key " << j;
    }
    ASSERT_EQ(decoded.read[static_cast<size_t>(j)], any ? 1 : 0) << "segments with key " << j;
  }
}

void ExpectPlane(const Plane& plane, const TileParams& params, const Problem& problem,
                 const RandomMask& random, int64_t b, int64_t h) {
  const std::vector<int64_t> origins = random.Origins(b, h);
  int64_t lane = 0, segment = 0;
  for (const Tile& tile : plane.tiles) {
    SCOPED_TRACE("tile of lanes from " + std::to_string(tile.first_lane));
    ASSERT_EQ(tile.first_lane, lane);
    ASSERT_EQ(tile.first_segment, segment);
    ASSERT_GE(tile.lanes, 1);
    ASSERT_GE(tile.vectors, 1);
    ASSERT_LE(tile.vectors, params.heights.heights);
    ASSERT_LE(tile.lanes, tile.vectors * params.vector_lanes);
    lane += tile.lanes;
    segment += tile.segment_count;
    for (int64_t l = tile.first_lane; l < lane; ++l) {
      const int64_t query = plane.queries.at(static_cast<size_t>(l / params.heads));
      ASSERT_EQ(tile.origin, test::FloorMod(origins[static_cast<size_t>(query)], kChunk));
    }
    ASSERT_NO_FATAL_FAILURE(ExpectTile(plane, tile, params, random, b, h, problem.k_len));
  }
  ASSERT_EQ(segment, static_cast<int64_t>(plane.segments.size()));
  ASSERT_EQ(lane, static_cast<int64_t>(plane.queries.size()) * params.heads);

  // Every query is a live row or an empty one, once.
  std::vector<int> seen(static_cast<size_t>(problem.q_len));
  for (const int64_t query : plane.queries) ++seen.at(static_cast<size_t>(query));
  for (const Run& run : plane.empty_rows) {
    for (int64_t i = run.begin; i < run.end; ++i) ++seen.at(static_cast<size_t>(i));
  }
  ASSERT_EQ(seen, std::vector<int>(seen.size(), 1));
}

TEST(TilesTest, RandomMasks) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const auto length = [&] {
      return PickOf(rng, {1, 63, 64, 65, 127, 128, 129, 200, Uniform(rng, 0, 60)});
    };
    const int64_t q_len = length(), k_len = OneIn(rng, 2) ? q_len : length();
    const Problem problem = SizesOf(Uniform(rng, 1, 2), Uniform(rng, 1, 2), 1, q_len, k_len);
    const RandomMask random(rng, problem);
    SCOPED_TRACE(random.text);
    const int64_t lanes = PickOf(rng, {4, 8, 16});
    TileParams params = Params(lanes, static_cast<int>(Uniform(rng, 1, 4)), Uniform(rng, 1, 3));
    params.skipping = OneIn(rng, 4) ? Skipping::kOff : Skipping::kOn;
    RowCompiler rows(problem, random.mask, {}, test::PlainScan);
    for (int64_t b = 0; b < problem.batch; ++b) {
      const int64_t h = Uniform(rng, 0, problem.heads - 1);
      const Plane plane = BuildTiles(rows.Compile(b, h), problem.k_len, params);
      ASSERT_NO_FATAL_FAILURE(ExpectPlane(plane, params, problem, random, b, h));
    }
  }
}

TEST(TilesTest, WithoutAMaskAllSegmentsAreFull) {
  const Plane plane = Build(SizesOf(1, 1, 1, 100, 300), Mask(), Params(8, 3));
  int64_t lanes = 0;
  for (const Tile& tile : plane.tiles) {
    lanes += tile.lanes;
    ASSERT_EQ(tile.segment_count, 1);
  }
  EXPECT_EQ(lanes, 100);
  for (const Segment& segment : plane.segments) {
    EXPECT_EQ(segment.kind, SegmentKind::kFull);
    EXPECT_EQ(segment.begin, 0);
    EXPECT_EQ(segment.end, 300);
  }
}

TEST(TilesTest, CausalTilesAreFullUpToTheDiagonal) {
  const Plane plane = Build(SizesOf(1, 1, 1, 64, 64), mask::Causal(), Params(8, 1));
  ASSERT_EQ(plane.tiles.size(), 8u);
  for (int64_t t = 0; t < 8; ++t) {
    const Tile& tile = plane.tiles[static_cast<size_t>(t)];
    ASSERT_EQ(tile.segment_count, 2) << t;
    const Segment& full = plane.segments[static_cast<size_t>(tile.first_segment)];
    const Segment& partial = plane.segments[static_cast<size_t>(tile.first_segment) + 1];
    EXPECT_EQ(full.kind, SegmentKind::kFull);
    EXPECT_EQ(full.end, 8 * t + 1);
    EXPECT_EQ(partial.kind, SegmentKind::kInterval);
    EXPECT_EQ(partial.begin, 8 * t + 1);
    EXPECT_EQ(partial.end, 8 * t + 8);
  }
  EXPECT_TRUE(plane.lane_bits.empty());
}

TEST(TilesTest, NoSegmentIsEmpty) {
  // Every row's interval ends inside the run of keys, at a chunk's end.
  const Plane plane = Build(SizesOf(1, 2, 1, 1, 512), mask::Causal(127), Params(8, 1, 2));
  ASSERT_EQ(plane.segments.size(), 1u);
  EXPECT_EQ(plane.segments[0].kind, SegmentKind::kFull);
  EXPECT_EQ(plane.segments[0].end, 128);
}

TEST(TilesTest, PaddingLeavesFullTilesOfLiveRowsOnly) {
  const std::vector<int64_t> begin = {37}, end = {64};
  const Mask mask = mask::KeyRange(begin, end) & mask::QueryRange(begin, end);
  const Plane plane = Build(SizesOf(1, 1, 1, 64, 64), mask, Params(8, 4));
  ASSERT_EQ(plane.tiles.size(), 1u);
  EXPECT_EQ(plane.tiles[0].lanes, 27);
  EXPECT_EQ(plane.tiles[0].origin, 37);
  ASSERT_EQ(plane.segments.size(), 1u);
  EXPECT_EQ(plane.segments[0].begin, 37);
  EXPECT_EQ(plane.segments[0].kind, SegmentKind::kFull);
}

TEST(TilesTest, HolesSplitFullSegments) {
  std::vector<uint8_t> valid(40, 1);
  valid[7] = valid[20] = valid[21] = 0;
  const Plane plane =
      Build(SizesOf(1, 1, 1, 16, 40),
            mask::KeyValid(ConstTensor(valid.data(), DType::kBool, {1, 40})), Params(16, 1));
  ASSERT_EQ(plane.tiles.size(), 1u);
  Runs runs;
  for (const Segment& segment : plane.segments) {
    EXPECT_EQ(segment.kind, SegmentKind::kFull);
    runs.push_back({segment.begin, segment.end});
  }
  EXPECT_EQ(runs, (Runs{{0, 7}, {8, 20}, {22, 40}}));
}

TEST(TilesTest, ADenseMaskOfEqualRowsNeedsNoLaneBits) {
  std::vector<uint8_t> dense(16 * 40);
  for (size_t at = 0; at < dense.size(); ++at) dense[at] = at % 40 % 3 != 0;
  const Plane plane =
      Build(SizesOf(1, 1, 1, 16, 40),
            mask::Dense(ConstTensor(dense.data(), DType::kBool, {16, 40}), "qk"), Params(16, 1));
  EXPECT_TRUE(plane.lane_bits.empty());
  EXPECT_EQ(plane.segments.size(), 13u);
}

TEST(TilesTest, ADenseCausalMaskIsIntervals) {
  std::vector<uint8_t> dense(32 * 32);
  for (size_t at = 0; at < dense.size(); ++at) dense[at] = at % 32 <= at / 32;
  const Problem problem = SizesOf(1, 1, 1, 32, 32);
  const Plane plane = Build(
      problem, mask::Dense(ConstTensor(dense.data(), DType::kBool, {32, 32}), "qk"), Params(8, 2));
  EXPECT_TRUE(plane.lane_bits.empty());
  EXPECT_EQ(plane.segments.size(), Build(problem, mask::Causal(), Params(8, 2)).segments.size());
}

TEST(TilesTest, HeadsOfAKeyHeadShareATile) {
  const Plane plane = Build(SizesOf(1, 3, 1, 2, 9), Mask(), Params(8, 1, 3));
  ASSERT_EQ(plane.tiles.size(), 1u);
  EXPECT_EQ(plane.tiles[0].lanes, 6);
  EXPECT_EQ(plane.queries, (std::vector<int64_t>{0, 1}));
}

TEST(TilesTest, DocumentsDoNotShareATile) {
  const std::vector<int64_t> q = {0, 3, 6}, k = {0, 5, 9};
  const Plane plane =
      Build(SizesOf(1, 1, 1, 6, 9), mask::DocumentsFromBoundaries(q, k), Params(16, 1));
  ASSERT_EQ(plane.tiles.size(), 2u);
  EXPECT_EQ(plane.tiles[0].lanes, 3);
  EXPECT_EQ(plane.tiles[1].origin, 5);
}

TEST(TilesTest, IntervalsThatTouchAreOneSegment) {
  const Plane plane = Build(SizesOf(1, 1, 1, 8, 8), mask::Window(0, 0), Params(8, 1));
  ASSERT_EQ(plane.segments.size(), 1u);
  EXPECT_EQ(plane.segments[0].begin, 0);
  EXPECT_EQ(plane.segments[0].end, 8);
}

TEST(TilesTest, DocumentsUnderRowsOfOneDenseMask) {
  // Both documents' rows have the same bits, but different keys of them.
  const std::vector<int64_t> cuts = {0, 2, 4};
  const std::vector<uint8_t> line = {1, 0, 1, 1, 0, 1};
  std::vector<uint8_t> dense;
  for (int i = 0; i < 4; ++i) dense.insert(dense.end(), line.begin(), line.end());
  const std::vector<int64_t> keys = {0, 3, 6};
  const Plane plane = Build(SizesOf(1, 1, 1, 4, 6),
                            mask::DocumentsFromBoundaries(cuts, keys) &
                                mask::Dense(ConstTensor(dense.data(), DType::kBool, {4, 6}), "qk"),
                            Params(8, 1));
  Runs runs;
  for (const Segment& segment : plane.segments) runs.push_back({segment.begin, segment.end});
  EXPECT_EQ(runs, (Runs{{0, 1}, {2, 3}, {3, 4}, {5, 6}}));
}

TEST(TilesTest, CostIsKeysTimesTheCostOfTheHeight) {
  const TileParams params = Params(4, 2);
  const Plane plane = Build(SizesOf(1, 1, 1, 8, 50), Mask(), params);
  ASSERT_EQ(plane.tiles.size(), 1u);
  EXPECT_EQ(TileCost(plane, plane.tiles[0], params), 50 * double{2.3f});
}

/// The kernel of few rows of each tile of a plane of `queries` x 40 pairs.
std::vector<int32_t> FewOfTiles(int64_t queries, int64_t heads) {
  TileParams params = Params(8, 1, heads);
  params.heights.few = {{2, 4, 0.5f}, {4, 4, 0.6f}, {8, 8, 1.0f}};
  std::vector<int32_t> few;
  Problem problem;
  problem.batch = 1;
  problem.heads = problem.kv_heads = 1;
  problem.q_len = queries;
  problem.k_len = 40;
  const Plane plane = Build(problem, Mask(), params);
  for (const Tile& tile : plane.tiles) {
    few.push_back(tile.few);
    const std::vector<int64_t> rows = {8, 4, 4, 8};
    EXPECT_EQ(StoredRows(tile, params), rows[static_cast<size_t>(tile.few + 1)]);
    const std::vector<double> cost = {1.3f, 0.5f, 0.6f, 1.0f};
    EXPECT_EQ(TileCost(plane, tile, params), 40 * cost[static_cast<size_t>(tile.few + 1)]);
  }
  return few;
}

TEST(TilesTest, FewRowsHaveKernelsOfTheirOwn) {
  EXPECT_EQ(FewOfTiles(1, 1), (std::vector<int32_t>{0}));
  EXPECT_EQ(FewOfTiles(1, 3), (std::vector<int32_t>{1}));
  EXPECT_EQ(FewOfTiles(2, 2), (std::vector<int32_t>{1}));
  EXPECT_EQ(FewOfTiles(5, 1), (std::vector<int32_t>{2}));
  // What other tiles leave over: the kernel of a whole vector is for tiles that are alone.
  EXPECT_EQ(FewOfTiles(11, 1), (std::vector<int32_t>{-1, 1}));
  EXPECT_EQ(FewOfTiles(13, 1), (std::vector<int32_t>{-1, -1}));
}

}  // namespace
}  // namespace skipattn::internal
