// Plans: which planes are shared, and that the tasks cover all work exactly once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "plan/plan_data.h"
#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace {

int64_t allocated_bytes = 0;

}  // namespace

// Counts what the program allocates. Not inlined: gcc would see malloc and delete meet and warn.
__attribute__((noinline)) void* operator new(size_t bytes) {
  allocated_bytes += static_cast<int64_t>(bytes);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  allocated_bytes += static_cast<int64_t>(bytes);
  return std::malloc(bytes);
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace skipattn::internal {
namespace {

using test::Rng;
using test::SizesOf;

TileParams Params(int64_t vector_lanes, int heights) {
  TileParams params;
  params.vector_lanes = vector_lanes;
  params.heights = {heights, {1.3f, 2.3f, 3.3f, 4.3f}};
  return params;
}

PlanData Build(const Problem& problem, const Mask& mask, const TileParams& params = Params(4, 2)) {
  return BuildPlan(problem, mask, {}, params, test::PlainScan);
}

/// Each tile of each (b, slot) in one task; one more task where there are empty rows.
void ExpectTasks(const PlanData& plan) {
  std::vector<std::vector<int>> seen;  // [b * slots + slot][tile], then once for the empty rows
  for (int64_t b = 0; b < plan.problem.batch; ++b) {
    for (int64_t slot = 0; slot < plan.slots; ++slot) {
      seen.emplace_back(plan.PlaneOf(b, slot).tiles.size() + 1);
    }
  }
  for (const Task& task : plan.tasks) {
    std::vector<int>& one = seen.at(static_cast<size_t>(task.b * plan.slots + task.slot));
    ASSERT_LT(task.slot, plan.slots);
    ASSERT_LE(task.tile_begin, task.tile_end);
    if (task.tile_begin == task.tile_end) ++one.back();
    for (int64_t t = task.tile_begin; t < task.tile_end; ++t) ++one.at(static_cast<size_t>(t));
  }
  for (int64_t b = 0; b < plan.problem.batch; ++b) {
    for (int64_t slot = 0; slot < plan.slots; ++slot) {
      const Plane& plane = plan.PlaneOf(b, slot);
      std::vector<int> expected(plane.tiles.size(), 1);
      expected.push_back(plane.empty_rows.empty() ? 0 : 1);
      ASSERT_EQ(seen[static_cast<size_t>(b * plan.slots + slot)], expected);
    }
  }
}

TEST(BuildTest, TasksCoverAllTilesOnce) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, 100);
    const test::RandomMask random(rng, problem);
    SCOPED_TRACE(random.text);
    const PlanData plan = Build(
        problem, random.mask, Params(test::PickOf(rng, {1, 4, 8}), static_cast<int>(seed % 4) + 1));
    ASSERT_EQ(plan.planes.size(), static_cast<size_t>(plan.batch_planes * plan.head_planes));
    ASSERT_NO_FATAL_FAILURE(ExpectTasks(plan));
  }
}

TEST(BuildTest, PlaneOfEachHeadAndEntryIsTheMaskThere) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, 40);
    const test::RandomMask random(rng, problem);
    SCOPED_TRACE(random.text);
    const PlanData plan = Build(problem, random.mask);
    ASSERT_EQ(plan.slots * plan.params.heads, problem.heads);
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t h = 0; h < problem.heads; ++h) {
        const Plane& plane = plan.PlaneOf(b, h / plan.params.heads);
        for (const Tile& tile : plane.tiles) {
          const test::DecodedTile decoded =
              test::Decode(plane, tile, plan.params.heads, problem.k_len);
          for (int64_t lane = 0; lane < tile.lanes; ++lane) {
            if ((tile.first_lane + lane) % plan.params.heads != h % plan.params.heads) continue;
            const size_t row = static_cast<size_t>((tile.first_lane + lane) / plan.params.heads);
            for (int64_t j = 0; j < problem.k_len; ++j) {
              ASSERT_EQ(decoded.attends[static_cast<size_t>(lane)][static_cast<size_t>(j)] != 0,
                        random.Allows(b, h, plane.queries[row], j));
            }
          }
        }
      }
    }
  }
}

TEST(BuildTest, OnePlaneForABatchUnderOneMask) {
  for (const Mask& mask : {Mask(), mask::Causal(), mask::Window(3, 0)}) {
    const PlanData plan = Build(SizesOf(5, 6, 2, 10, 10), mask);
    EXPECT_EQ(plan.planes.size(), 1u);
    EXPECT_EQ(plan.params.heads, 3) << "query heads of a key head side by side";
    EXPECT_EQ(plan.slots, 2);
    EXPECT_EQ(&plan.PlaneOf(0, 0), &plan.PlaneOf(4, 1));
  }
}

TEST(BuildTest, OnePlaneAnEntryForLengths) {
  const std::vector<int64_t> lengths = {3, 9, 0};
  const PlanData plan = Build(SizesOf(3, 4, 2, 10, 10), mask::KeyLengths(lengths));
  EXPECT_EQ(plan.planes.size(), 3u);
  EXPECT_EQ(plan.slots, 2);
  EXPECT_EQ(&plan.PlaneOf(1, 0), &plan.PlaneOf(1, 1));
  EXPECT_EQ(plan.PlaneOf(1, 0).intervals.at(0).end, 9);
  EXPECT_EQ(plan.PlaneOf(2, 1).empty_rows, (Runs{{0, 10}}));
}

TEST(BuildTest, OnePlaneAHeadForMasksThatDifferByHead) {
  const std::vector<uint8_t> bytes = {1, 0, 1, 1, 0, 1, 0, 0};
  const PlanData plan = Build(SizesOf(3, 4, 2, 10, 2),
                              mask::Dense(ConstTensor(bytes.data(), DType::kBool, {4, 2}), "hk"));
  EXPECT_EQ(plan.planes.size(), 4u);
  EXPECT_EQ(plan.params.heads, 1) << "heads with masks of their own are not packed together";
  EXPECT_EQ(plan.slots, 4);
  EXPECT_EQ(&plan.PlaneOf(0, 1), &plan.PlaneOf(2, 1));
  EXPECT_TRUE(plan.PlaneOf(0, 3).tiles.empty());
}

TEST(BuildTest, OnePlaneAnEntryForOrigins) {
  AttentionOptions options;
  options.key_origin = {0, 5};
  const PlanData plan =
      BuildPlan(SizesOf(2, 1, 1, 4, 4), {}, options, Params(4, 1), test::PlainScan);
  ASSERT_EQ(plan.planes.size(), 2u);
  EXPECT_EQ(plan.PlaneOf(1, 0).tiles.at(0).origin, 5);
}

TEST(BuildTest, NothingToDo) {
  EXPECT_TRUE(Build(SizesOf(0, 2, 1, 4, 4), {}).tasks.empty());
  EXPECT_TRUE(Build(SizesOf(2, 2, 1, 0, 4), {}).tasks.empty());
  const std::vector<int64_t> none;
  EXPECT_TRUE(Build(SizesOf(0, 2, 1, 4, 4), mask::KeyLengths(none)).tasks.empty());
  // Without keys there are only empty rows.
  const PlanData plan = Build(SizesOf(2, 2, 1, 4, 0), {});
  EXPECT_EQ(plan.tasks.size(), 2u);
  EXPECT_NO_FATAL_FAILURE(ExpectTasks(plan));
}

TEST(BuildTest, TasksAreOfSimilarCost) {
  const PlanData plan = Build(SizesOf(2, 4, 4, 1000, 1000), mask::Causal());
  EXPECT_NO_FATAL_FAILURE(ExpectTasks(plan));
  double total = 0, largest_tile = 0, largest_task = 0;
  for (const Task& task : plan.tasks) {
    const Plane& plane = plan.PlaneOf(task.b, task.slot);
    double cost = 0;
    for (int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      const double tile = TileCost(plane, plane.tiles[static_cast<size_t>(t)], plan.params);
      largest_tile = std::max(largest_tile, tile);
      cost += tile;
    }
    largest_task = std::max(largest_task, cost);
    total += cost;
  }
  EXPECT_LT(largest_task, total / 200) << "one thread of many would work much longer than others";
  EXPECT_GE(largest_task, largest_tile);
  EXPECT_LT(plan.tasks.size(), 2000u);
}

TEST(BuildTest, SkippingOffReachesTheTiles) {
  AttentionOptions options;
  options.skipping = Skipping::kOff;
  const std::vector<int64_t> lengths = {1};
  const PlanData plan = BuildPlan(SizesOf(1, 1, 1, 4, 300), mask::KeyLengths(lengths), options,
                                  Params(4, 1), test::PlainScan);
  const Plane& plane = plan.PlaneOf(0, 0);
  const test::DecodedTile decoded = test::Decode(plane, plane.tiles.at(0), 1, 300);
  EXPECT_EQ(decoded.read, std::vector<uint8_t>(300, 1));
}

int64_t scanned_bytes = 0;

void CountingScan(const uint8_t* bytes, int64_t count, uint64_t* words) {
  scanned_bytes += count;
  test::PlainScan(bytes, count, words);
}

// A long sequence costs what its rows cost: nothing is of the size of queries times keys.
TEST(BuildTest, AMillionTokensCostMemoryOfTheirNumberOnly) {
  constexpr int64_t kLength = 1'000'000, kDocument = 9973, kBlock = 1000;
  std::vector<int64_t> cuts;
  for (int64_t cut = 0; cut < kLength; cut += kDocument) cuts.push_back(cut);
  cuts.push_back(kLength);
  const std::vector<int64_t> sinks = {4}, prefix = {kLength / 2};
  const std::vector<uint8_t> valid(kLength, 1);
  std::vector<uint8_t> blocks(kBlock * kBlock);
  for (int64_t n = 0; n < kBlock * kBlock; ++n) {
    const int64_t back = n / kBlock - n % kBlock;
    blocks[static_cast<size_t>(n)] = (back >= 0 && back < 3) || n % kBlock == 0;
  }
  const Mask documents = mask::DocumentsFromBoundaries(cuts, cuts);
  const Mask window = mask::Window(512, 0), sink = mask::KeyLengths(sinks);
  const Mask padding = mask::Padding(ConstTensor(valid.data(), DType::kBool, {1, kLength}));
  const ConstTensor sparse(blocks.data(), DType::kBool, {kBlock, kBlock});
  const Mask masks[] = {documents & mask::Causal() & window,
                        padding & mask::Causal(),
                        mask::PrefixCausal(prefix) & documents,
                        mask::Causal() & (window | sink),
                        documents & mask::Causal() & ~(~window & ~sink),
                        (documents | sink) & window,
                        mask::Causal() & ~window,
                        mask::Causal() & mask::Blocks(sparse, "qk", kBlock, kBlock)};
  const Problem problem = SizesOf(1, 1, 1, kLength, kLength);
  for (const Mask& mask : masks) {
    SCOPED_TRACE(&mask - masks);
    allocated_bytes = scanned_bytes = 0;
    const PlanData plan = BuildPlan(problem, mask, {}, Params(8, 3), CountingScan);
    EXPECT_LT(allocated_bytes, 1000 * kLength);
    EXPECT_LE(scanned_bytes, 2 * kLength);
    EXPECT_GE(plan.planes.at(0).queries.size(), size_t{kLength} - kDocument);
    EXPECT_LT(plan.planes[0].lane_bits.size(), size_t{10 * kLength});
  }
}

}  // namespace
}  // namespace skipattn::internal
