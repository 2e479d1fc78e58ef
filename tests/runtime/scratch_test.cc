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
  void* first = ThreadScratch(1000);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
  std::memset(first, 1, 1000);
  EXPECT_EQ(ThreadScratch(10), first) << "less is asked for: nothing is allocated";
  EXPECT_EQ(ThreadScratch(1000), first);
  void* larger = ThreadScratch(1 << 20);
  ASSERT_NE(larger, nullptr);
  std::memset(larger, 1, 1 << 20);
  EXPECT_EQ(ThreadScratch(1000), larger);
}

TEST(ScratchTest, EachThreadHasItsOwn) {
  void* mine = ThreadScratch(64);
  void* other = nullptr;
  std::thread([&] { other = ThreadScratch(64); }).join();
  EXPECT_NE(other, nullptr);
  EXPECT_NE(other, mine);
}

TEST(ScratchTest, RunsOfOneThreadKeepTheirBuffer) {
  void* first;
  {
    const RunScratch run(1000);
    first = run.data();
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % 64, 0u);
    EXPECT_NE(first, ThreadScratch(1000));
  }
  const RunScratch again(900);
  EXPECT_EQ(again.data(), first);
}

TEST(ScratchTest, ARunWithinARunHasMemoryOfItsOwn) {
  const RunScratch outer(256);
  std::memset(outer.data(), 1, 256);
  {
    const RunScratch inner(512);
    ASSERT_NE(inner.data(), nullptr);
    EXPECT_NE(inner.data(), outer.data());
    std::memset(inner.data(), 2, 512);
  }
  EXPECT_EQ(static_cast<char*>(outer.data())[255], 1);
  EXPECT_EQ(RunScratch(0).data(), nullptr);
}

TEST(ScratchTest, NoMemoryIsNull) {
  EXPECT_EQ(ThreadScratch(std::numeric_limits<size_t>::max() / 4), nullptr);
  EXPECT_NE(ThreadScratch(64), nullptr) << "and the thread goes on";
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
