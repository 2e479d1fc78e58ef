// Tile heights against all covers.
#include "plan/cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "tests/random_array.h"

namespace skipattn::internal {
namespace {

double CostOf(const std::vector<int>& cover, const HeightCosts& costs) {
  double cost = 0;
  for (const int height : cover) cost += double{costs.cost[height - 1]};
  return cost;
}

/// The least cost of any cover, by trying them all: each list of heights that does not rise.
double LeastCost(int64_t vectors, int tallest, const HeightCosts& costs) {
  if (vectors <= 0) return 0;
  double least = std::numeric_limits<double>::infinity();
  for (int height = 1; height <= tallest; ++height) {
    least = std::min(least,
                     double{costs.cost[height - 1]} + LeastCost(vectors - height, height, costs));
  }
  return least;
}

/// The same in time that is linear in `vectors`.
std::vector<double> LeastCosts(int64_t most, const HeightCosts& costs) {
  std::vector<double> least(static_cast<size_t>(most) + 1);
  for (int64_t n = 1; n <= most; ++n) {
    double& cost = least[static_cast<size_t>(n)];
    cost = std::numeric_limits<double>::infinity();
    for (int height = 1; height <= costs.heights; ++height) {
      const int64_t rest = std::max<int64_t>(n - height, 0);
      cost = std::min(cost, double{costs.cost[height - 1]} + least[static_cast<size_t>(rest)]);
    }
  }
  return least;
}

/// Vectors whose rows all attend one and the same key, so that only heights matter.
std::vector<int> CoverCount(int64_t vectors, const HeightCosts& costs) {
  return CoverVectors(std::vector<VectorKeys>(static_cast<size_t>(vectors), {{0, 1}}), costs);
}

/// Everything that any cover must be.
void ExpectCover(const std::vector<int>& cover, int64_t vectors, const HeightCosts& costs) {
  int64_t sum = 0;
  for (const int height : cover) {
    ASSERT_GE(height, 1);
    ASSERT_LE(height, costs.heights);
    sum += height;
  }
  ASSERT_GE(sum, vectors);
  ASSERT_TRUE(cover.empty() || sum - cover.back() < vectors) << "the last tile has no rows";
}

HeightCosts RandomCosts(test::Rng& rng, int heights) {
  HeightCosts costs;
  costs.heights = heights;
  for (float& cost : costs.cost) cost = static_cast<float>(test::Uniform(rng, 1, 1000)) / 256.0f;
  if (test::OneIn(rng, 2)) std::sort(costs.cost, costs.cost + 4);
  return costs;
}

TEST(CoverTest, NothingToCover) { EXPECT_TRUE(CoverCount(0, HeightCosts()).empty()); }

TEST(CoverTest, OneHeightIsRepeated) {
  EXPECT_EQ(CoverCount(5, HeightCosts()), (std::vector<int>{1, 1, 1, 1, 1}));
}

TEST(CoverTest, TallTilesWhereAKeyCostsSomething) {
  const HeightCosts costs = {3, {1.3f, 2.3f, 3.3f, 0}};
  EXPECT_EQ(CoverCount(1, costs), (std::vector<int>{1}));
  EXPECT_EQ(CoverCount(4, costs).size(), 2u);
  EXPECT_EQ(CoverCount(6, costs), (std::vector<int>{3, 3}));
  EXPECT_EQ(CoverCount(7, costs).size(), 3u);
  EXPECT_EQ(CoverCount(300, costs), std::vector<int>(100, 3));
}

TEST(CoverTest, EmptyLanesWhereTheyAreCheaper) {
  // A tile of 2 costs more than one of 3, half full or not.
  EXPECT_EQ(CoverCount(2, {3, {2.0f, 3.5f, 3.0f, 0}}), (std::vector<int>{3}));
}

TEST(CoverTest, SmallCoversAreTheCheapestOfAll) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    const HeightCosts costs = RandomCosts(rng, static_cast<int>(seed % 4) + 1);
    for (int64_t vectors = 0; vectors <= 18; ++vectors) {
      SCOPED_TRACE(std::to_string(vectors) + " vectors");
      const std::vector<int> cover = CoverCount(vectors, costs);
      ASSERT_NO_FATAL_FAILURE(ExpectCover(cover, vectors, costs));
      ASSERT_NEAR(CostOf(cover, costs), LeastCost(vectors, costs.heights, costs), 1e-4);
    }
  }
}

TEST(CoverTest, LongCoversAreTheCheapestOfAll) {
  constexpr int64_t kMost = 400;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    const HeightCosts costs = RandomCosts(rng, static_cast<int>(seed % 4) + 1);
    const std::vector<double> least = LeastCosts(kMost, costs);
    for (int64_t vectors = 1; vectors <= kMost; ++vectors) {
      SCOPED_TRACE(std::to_string(vectors) + " vectors");
      const std::vector<int> cover = CoverCount(vectors, costs);
      ASSERT_NO_FATAL_FAILURE(ExpectCover(cover, vectors, costs));
      ASSERT_NEAR(CostOf(cover, costs), least[static_cast<size_t>(vectors)], 1e-3);
    }
  }
}

/// Keys of one of the vectors [first, end) at least.
double CountKeys(const std::vector<VectorKeys>& keys, size_t first, size_t end) {
  std::set<int64_t> all;
  for (size_t v = first; v < end; ++v) {
    for (const internal::Run& run : keys[v].runs.empty() ? Runs{keys[v].bounds} : keys[v].runs) {
      for (int64_t j = run.begin; j < run.end; ++j) all.insert(j);
    }
  }
  return static_cast<double>(all.size());
}

/// The cost of one tile over the vectors [first, end).
double TileCostOf(const std::vector<VectorKeys>& keys, size_t first, size_t end, int height,
                  const HeightCosts& costs) {
  return (CountKeys(keys, first, end) + double{costs.tile_keys}) * double{costs.cost[height - 1]};
}

/// The least cost of tiles over all vectors.
double LeastKeyCost(const std::vector<VectorKeys>& keys, const HeightCosts& costs) {
  std::vector<double> least(keys.size() + 1, 0.0);
  for (size_t first = keys.size(); first-- > 0;) {
    least[first] = std::numeric_limits<double>::infinity();
    for (int height = 1; height <= costs.heights; ++height) {
      const size_t end = std::min(first + static_cast<size_t>(height), keys.size());
      least[first] =
          std::min(least[first], TileCostOf(keys, first, end, height, costs) + least[end]);
    }
  }
  return least[0];
}

double KeyCostOf(const std::vector<int>& cover, const std::vector<VectorKeys>& keys,
                 const HeightCosts& costs) {
  double cost = 0;
  size_t first = 0;
  for (const int height : cover) {
    const size_t end = std::min(first + static_cast<size_t>(height), keys.size());
    cost += TileCostOf(keys, first, end, height, costs);
    first = end;
  }
  return cost;
}

TEST(CoverTest, TheKeysOfEachTileCount) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    HeightCosts costs = RandomCosts(rng, static_cast<int>(seed % 4) + 1);
    costs.tile_keys = static_cast<float>(test::Uniform(rng, 0, 20));
    std::vector<VectorKeys> keys(static_cast<size_t>(test::Uniform(rng, 1, 9)));
    for (auto& [bounds, runs] : keys) {
      int64_t begin = test::Uniform(rng, 0, 100);
      for (int64_t count = test::PickOf(rng, {0, 0, 2, 5}); count > 0; --count) {
        runs.push_back({begin, begin + test::Uniform(rng, 1, 100)});
        begin = runs.back().end + test::Uniform(rng, 1, 50);
      }
      bounds = runs.empty() ? internal::Run{begin, begin + test::Uniform(rng, 1, 100)}
                            : internal::Run{runs.front().begin, runs.back().end};
    }
    const std::vector<int> cover = CoverVectors(keys, costs);
    ASSERT_NO_FATAL_FAILURE(ExpectCover(cover, static_cast<int64_t>(keys.size()), costs));
    ASSERT_NEAR(KeyCostOf(cover, keys, costs), LeastKeyCost(keys, costs), 1e-3);
  }
}

TEST(CoverTest, SlantedMasksGetLowTiles) {
  const HeightCosts costs = {4, {1.3f, 2.3f, 3.3f, 4.3f}};
  std::vector<VectorKeys> causal, full;
  for (int64_t v = 0; v < 16; ++v) {
    causal.push_back({{0, 8 * (v + 1)}});
    full.push_back({{0, 128}});
  }
  EXPECT_EQ(CoverVectors(full, costs), (std::vector<int>{4, 4, 4, 4}));
  EXPECT_GT(CoverVectors(causal, costs).size(), 4u);
}

TEST(CoverTest, VectorsOfOtherKeysMakeATileOfTheirOwn) {
  const HeightCosts costs = {2, {1.3f, 2.3f}};
  const VectorKeys one = {{0, 192}, {{0, 64}, {128, 192}}};
  const VectorKeys other = {{64, 256}, {{64, 128}, {192, 256}}};
  EXPECT_EQ(CoverVectors({one, one, other, other}, costs), (std::vector<int>{2, 2}));
  EXPECT_EQ(CoverVectors({one, other, other, one}, costs), (std::vector<int>{1, 2, 1}));
}

}  // namespace
}  // namespace skipattn::internal
