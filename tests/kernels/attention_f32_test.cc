// The table of f32 kernels of every target.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "hwy/highway.h"
#include "kernels/tile.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// Calls use(target bit) for every compiled target that this CPU supports.
template <class Use>
void ForEachTarget(Use use) {
  int64_t rest = hwy::SupportedTargets() & HWY_TARGETS;
  ASSERT_NE(rest, 0);
  for (; rest != 0; rest &= rest - 1) {
    SCOPED_TRACE(hwy::TargetName(rest & -rest));
    use(rest & -rest);
  }
}

TEST(AttentionF32Test, EveryConfigurationHasAllItsHeights) {
  ForEachTarget([](int64_t target) {
    const KernelTable table = KernelsF32(target);
    ASSERT_GT(table.config_count, 0u);
    std::set<std::string> names;
    for (size_t c = 0; c < table.config_count; ++c) {
      const TileConfig& config = table.configs[c];
      EXPECT_TRUE(names.insert(config.name).second) << config.name;
      for (int height = 1; height <= kMaxVectors; ++height) {
        EXPECT_EQ(config.tile[height - 1] != nullptr, height <= config.shape.score_vectors);
      }
    }
  });
}

TEST(AttentionF32Test, KernelsOfFewRowsRise) {
  ForEachTarget([](int64_t target) {
    const KernelTable table = KernelsF32(target);
    EXPECT_GT(table.few[0].most, 0);
    int most = 0;
    for (const FewRows& few : table.few) {
      if (few.most == 0) {
        most = kMaxTileRows;  // and no more behind it
        continue;
      }
      EXPECT_GT(few.most, most);
      EXPECT_GE(few.rows, few.most);
      EXPECT_EQ(few.rows % 4, 0);
      EXPECT_LE(static_cast<size_t>(few.rows), table.lanes);
      EXPECT_GT(few.cost, 0);
      EXPECT_NE(few.tile, nullptr);
      most = few.most;
    }
  });
}

TEST(AttentionF32Test, TargetsHaveCodeOfTheirOwn) {
  std::set<TileFunction> functions;
  size_t targets = 0;
  ForEachTarget([&](int64_t target) {
    ++targets;
    functions.insert(KernelsF32(target).configs[0].tile[0]);
  });
  EXPECT_EQ(functions.size(), targets);
}

TEST(AttentionF32Test, ScratchGrowsWithEverySize) {
  const size_t base = ScratchFloats(16, 8, 64, 64, false);
  EXPECT_GE(base, 16u * 64 + 16u * kChunk + 16u * 64);
  EXPECT_GT(ScratchFloats(24, 8, 64, 64, false), base);
  EXPECT_GT(ScratchFloats(16, 8, 128, 64, false), base);
  EXPECT_GT(ScratchFloats(16, 8, 64, 65, false), base);
  EXPECT_EQ(ScratchFloats(16, 8, 64, 64, true), base + 128 * 16);
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
