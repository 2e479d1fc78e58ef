// ThreadScratch: aligned, kept, one per thread.
#include "runtime/scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <thread>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

TEST(ScratchTest, IsAlignedWritableAndKept) {
  void* first = ThreadScratch(ScratchUse::kWorker, 1000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  std::memset(first, 1, 1000);
  EXPECT_EQ(ThreadScratch(ScratchUse::kWorker, 10), first)
      << "less is asked for: nothing is allocated";
  EXPECT_EQ(ThreadScratch(ScratchUse::kWorker, 1000), first);
  void* larger = ThreadScratch(ScratchUse::kWorker, 1 << 20);
  ASSERT_NE(larger, nullptr);
  std::memset(larger, 1, 1 << 20);
  EXPECT_EQ(ThreadScratch(ScratchUse::kWorker, 1000), larger);
}

TEST(ScratchTest, EachThreadHasItsOwn) {
  void* mine = ThreadScratch(ScratchUse::kWorker, 64);
  void* other = nullptr;
  std::thread([&] { other = ThreadScratch(ScratchUse::kWorker, 64); }).join();
  EXPECT_NE(other, nullptr);
  EXPECT_NE(other, mine);
}

TEST(ScratchTest, TheTwoUsesAreApart) {
  EXPECT_NE(ThreadScratch(ScratchUse::kRun, 64), ThreadScratch(ScratchUse::kWorker, 64));
}

TEST(ScratchTest, NoMemoryIsNull) {
  EXPECT_EQ(ThreadScratch(ScratchUse::kWorker, std::numeric_limits<size_t>::max() / 4), nullptr);
  EXPECT_NE(ThreadScratch(ScratchUse::kWorker, 64), nullptr) << "and the thread goes on";
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
