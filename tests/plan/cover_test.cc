// Tile heights against all covers.
#include "plan/cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
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

/// Everything that any cover must be.
void ExpectCover(const std::vector<int>& cover, int64_t vectors, const HeightCosts& costs) {
  int64_t sum = 0;
  for (const int height : cover) {
    ASSERT_GE(height, 1);
    ASSERT_LE(height, costs.heights);
    sum += height;
  }
  ASSERT_GE(sum, vectors);
  ASSERT_TRUE(std::is_sorted(cover.begin(), cover.end(), std::greater<int>()));
  ASSERT_TRUE(cover.empty() || sum - cover.back() < vectors) << "the last tile has no rows";
}

HeightCosts RandomCosts(test::Rng& rng, int heights) {
  HeightCosts costs;
  costs.heights = heights;
  for (float& cost : costs.cost) cost = static_cast<float>(test::Uniform(rng, 1, 1000)) / 256.0f;
  if (test::OneIn(rng, 2)) std::sort(costs.cost, costs.cost + 4);
  return costs;
}

TEST(CoverTest, NothingToCover) { EXPECT_TRUE(CoverVectors(0, HeightCosts()).empty()); }

TEST(CoverTest, OneHeightIsRepeated) {
  EXPECT_EQ(CoverVectors(5, HeightCosts()), (std::vector<int>{1, 1, 1, 1, 1}));
}

TEST(CoverTest, TallTilesWhereAKeyCostsSomething) {
  const HeightCosts costs = {3, {1.3f, 2.3f, 3.3f, 0}};
  EXPECT_EQ(CoverVectors(1, costs), (std::vector<int>{1}));
  EXPECT_EQ(CoverVectors(4, costs).size(), 2u);
  EXPECT_EQ(CoverVectors(6, costs), (std::vector<int>{3, 3}));
  EXPECT_EQ(CoverVectors(7, costs).size(), 3u);
  EXPECT_EQ(CoverVectors(300, costs), std::vector<int>(100, 3));
}

TEST(CoverTest, EmptyLanesWhereTheyAreCheaper) {
  // A tile of 2 costs more than one of 3, half full or not.
  EXPECT_EQ(CoverVectors(2, {3, {2.0f, 3.5f, 3.0f, 0}}), (std::vector<int>{3}));
}

TEST(CoverTest, SmallCoversAreTheCheapestOfAll) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    const HeightCosts costs = RandomCosts(rng, static_cast<int>(seed % 4) + 1);
    for (int64_t vectors = 0; vectors <= 18; ++vectors) {
      SCOPED_TRACE(std::to_string(vectors) + " vectors");
      const std::vector<int> cover = CoverVectors(vectors, costs);
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
      const std::vector<int> cover = CoverVectors(vectors, costs);
      ASSERT_NO_FATAL_FAILURE(ExpectCover(cover, vectors, costs));
      ASSERT_NEAR(CostOf(cover, costs), least[static_cast<size_t>(vectors)], 1e-3);
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
