#include "runtime/float_env.h"

#include <gtest/gtest.h>

#include <array>
#include <cfenv>
#include <cmath>
#include <limits>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Not inlined and through memory, so that the arithmetic happens where it is called.
__attribute__((noinline)) float Add(volatile float* a, volatile float* b) { return *a + *b; }
__attribute__((noinline)) float Multiply(volatile float* a, volatile float* b) { return *a * *b; }

volatile float one = 1.0f, minus_one = -1.0f, half_ulp = 0x1p-24f, more_than_half = 0x1.8p-24f;
volatile float minus_half_ulp = -0x1p-24f;
volatile float least_normal = std::numeric_limits<float>::min(), half = 0.5f;
volatile float largest = std::numeric_limits<float>::max(), subnormal = 0x1p-130f;

// Three sums that tell the rounding modes apart. (std::fegetround() reads another register than the
// one that counts on x86.)
using Sums = std::array<float, 3>;
Sums RoundedSums() {
  return {Add(&one, &half_ulp), Add(&one, &more_than_half), Add(&minus_one, &minus_half_ulp)};
}
const Sums kNearest = {1.0f, 1.0f + 0x1p-23f, -1.0f};

class FloatEnvTest : public testing::Test {
 protected:
  FloatEnvTest() { std::fegetenv(&saved_); }
  ~FloatEnvTest() override { std::fesetenv(&saved_); }

 private:
  std::fenv_t saved_;
};

TEST_F(FloatEnvTest, RoundsToNearestWhateverTheHostHasSet) {
  for (const int mode : {FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    const Sums before = RoundedSums();
    EXPECT_EQ(before == kNearest, mode == FE_TONEAREST);
    {
      const ScopedFloatEnv env;
      EXPECT_EQ(RoundedSums(), kNearest);
    }
    EXPECT_EQ(RoundedSums(), before);
  }
}

TEST_F(FloatEnvTest, FlagsAreTheCallersAfterwards) {
  std::feclearexcept(FE_ALL_EXCEPT);
  std::feraiseexcept(FE_INVALID);
  {
    const ScopedFloatEnv env;
    EXPECT_EQ(std::fetestexcept(FE_INVALID), 0);
    EXPECT_TRUE(std::isinf(Multiply(&largest, &largest)));
    EXPECT_NE(std::fetestexcept(FE_OVERFLOW), 0);
  }
  EXPECT_NE(std::fetestexcept(FE_INVALID), 0);
  EXPECT_EQ(std::fetestexcept(FE_OVERFLOW), 0);
}

TEST_F(FloatEnvTest, ScopesNest) {
  std::fesetround(FE_UPWARD);
  const Sums upward = RoundedSums();
  {
    const ScopedFloatEnv outer;
    {
      const ScopedFloatEnv inner;
      EXPECT_EQ(RoundedSums(), kNearest);
    }
    EXPECT_EQ(RoundedSums(), kNearest);
  }
  EXPECT_EQ(RoundedSums(), upward);
}

#if defined(__SSE__)
TEST_F(FloatEnvTest, SubnormalsAreKeptUnderFtzAndDaz) {
  constexpr unsigned kFtz = 0x8000, kDaz = 0x0040;
  _mm_setcsr(_mm_getcsr() | kFtz | kDaz);
  EXPECT_EQ(Multiply(&least_normal, &half), 0.0f);
  {
    const ScopedFloatEnv env;
    EXPECT_GT(Multiply(&least_normal, &half), 0.0f);
    EXPECT_GT(Multiply(&subnormal, &one), 0.0f);
  }
  EXPECT_EQ(_mm_getcsr() & (kFtz | kDaz), kFtz | kDaz);
}

TEST_F(FloatEnvTest, ExceptionsAreMaskedInsideAndUnmaskedAgainOutside) {
  constexpr unsigned kOverflowMask = 0x0400;
  _mm_setcsr((_mm_getcsr() & ~kOverflowMask) & ~0x3fu);
  {
    const ScopedFloatEnv env;
    EXPECT_TRUE(std::isinf(Multiply(&largest, &largest)));  // would end the process otherwise
  }
  const unsigned after = _mm_getcsr();
  _mm_setcsr(after | kOverflowMask);
  EXPECT_EQ(after & kOverflowMask, 0u);
}
#endif

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
