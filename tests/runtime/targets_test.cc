// Names of targets and configurations.
#include "skipattn/targets.h"

#include <gtest/gtest.h>

#include <set>

#include "hwy/highway.h"
#include "runtime/target_table.h"

namespace skipattn {
inline namespace v0 {
namespace {

TEST(TargetsTest, EveryCompiledTargetIsListedOnceBestFirst) {
  const std::vector<TargetInfo> targets = CompiledTargets();
  ASSERT_FALSE(targets.empty());
  std::set<std::string> names;
  int64_t bits = 0;
  for (const TargetInfo& target : targets) {
    EXPECT_TRUE(names.insert(target.name).second) << target.name;
    if (!target.supported) continue;
    const Result<int64_t> bit = internal::FindTarget(target.name);
    ASSERT_TRUE(bit.ok()) << bit.status().message();
    EXPECT_STREQ(internal::TargetName(*bit), target.name.c_str());
    EXPECT_GE(target.lanes, 1);
    bits |= *bit;
  }
  EXPECT_EQ(bits, hwy::SupportedTargets() & HWY_TARGETS);
  EXPECT_EQ(BestTarget(), internal::TargetName(*internal::FindTarget("")));
}

TEST(TargetsTest, OnX86NoTargetIsForgotten) {
#if HWY_ARCH_X86_64
  for (const TargetInfo& target : CompiledTargets()) {
    EXPECT_EQ(target.exact, target.name != "SSE2") << target.name;
    const int lanes = target.name == "AVX3" ? 16 : (target.name == "AVX2" ? 8 : 4);
    EXPECT_EQ(target.lanes, target.supported ? lanes : 0) << target.name;
  }
#endif
}

TEST(TargetsTest, UnknownNamesListWhatWouldDo) {
  const Result<int64_t> target = internal::FindTarget("AVX9");
  ASSERT_FALSE(target.ok());
  EXPECT_NE(target.status().message().find("target is \"AVX9\""), std::string::npos);
  EXPECT_NE(target.status().message().find(BestTarget()), std::string::npos);
  EXPECT_FALSE(TileConfigs("AVX9").ok());
}

TEST(TargetsTest, ConfigurationsHaveDistinctNames) {
  for (const TargetInfo& target : CompiledTargets()) {
    if (!target.supported) continue;
    const Result<std::vector<std::string>> configs = TileConfigs(target.name);
    ASSERT_TRUE(configs.ok());
    EXPECT_FALSE(configs->empty());
    EXPECT_EQ(std::set<std::string>(configs->begin(), configs->end()).size(), configs->size());
  }
}

TEST(TargetsTest, ThreadsAreAtLeastOne) { EXPECT_GE(AvailableThreads(), 1); }

}  // namespace
}  // namespace v0
}  // namespace skipattn
