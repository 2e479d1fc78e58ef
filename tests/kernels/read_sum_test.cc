// The plain sum that reading is measured with: it must read everything once, and nothing else.
#include "kernels/read_sum.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "hwy/highway.h"

namespace skipattn::internal {
namespace {

TEST(ReadSumTest, SumsEverythingOnce) {
  for (int64_t rest = hwy::SupportedTargets() & HWY_TARGETS; rest != 0; rest &= rest - 1) {
    SCOPED_TRACE(hwy::TargetName(rest & -rest));
    for (size_t count : {size_t{0}, size_t{1}, size_t{7}, size_t{64}, size_t{65}, size_t{1000}}) {
      std::vector<float> memory(count + 2, NAN);
      float want = 0;
      for (size_t n = 0; n < count; ++n) want += memory[n + 1] = static_cast<float>(n % 64 + 1);
      EXPECT_EQ(ReadSum(rest & -rest, memory.data() + 1, count), want) << count;
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
