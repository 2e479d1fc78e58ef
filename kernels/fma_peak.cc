// The fma peak of one core, per target: chains of multiply-adds that wait for nothing but
// themselves.
#include "kernels/fma_peak.h"

#include <chrono>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/fma_peak.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// x -> x/2 + 1/2 tends to 1 from any start: finite, no subnormals. One constant for both operands
// leaves the other registers to the chains; and as the chain goes through the product, a target
// without fma cannot move its multiplication out of the loop.
template <class V>
HWY_INLINE void Step(V& a, V& b, V& c, V& d, V half) {
  a = hn::MulAdd(a, half, half);
  b = hn::MulAdd(b, half, half);
  c = hn::MulAdd(c, half, half);
  d = hn::MulAdd(d, half, half);
}

template <class V>
HWY_INLINE V Sum(V a, V b, V c, V d) {
  return hn::Add(hn::Add(a, b), hn::Add(c, d));
}

// Runs `rounds` steps of every chain; returns the floating-point operations that took.
//
// Chains needed = latency x multiply-adds a cycle: 8 on x86 (4 x 2), where 12 still fit 16
// registers; 16 on wide Arm cores (4 x 4), which have 32. Different starts keep the compiler from
// making one chain of them.
double MulAddRounds(int64_t rounds) {
  const hn::ScalableTag<float> df;
  float unknown = 0.5f;
  hwy::PreventElision(unknown);
  const auto half = hn::Set(df, unknown);
  auto a0 = hn::Set(df, 0.f), a1 = hn::Set(df, 1.f), a2 = hn::Set(df, 2.f), a3 = hn::Set(df, 3.f);
  auto b0 = hn::Set(df, 4.f), b1 = hn::Set(df, 5.f), b2 = hn::Set(df, 6.f), b3 = hn::Set(df, 7.f);
  auto c0 = hn::Set(df, 8.f), c1 = hn::Set(df, 9.f), c2 = hn::Set(df, 10.f), c3 = hn::Set(df, 11.f);
#if !HWY_ARCH_X86
  auto d0 = hn::Set(df, 12.f), d1 = hn::Set(df, 13.f), d2 = hn::Set(df, 14.f),
       d3 = hn::Set(df, 15.f);
#endif
  for (int64_t round = 0; round < rounds; ++round) {
    Step(a0, a1, a2, a3, half);
    Step(b0, b1, b2, b3, half);
    Step(c0, c1, c2, c3, half);
#if !HWY_ARCH_X86
    Step(d0, d1, d2, d3, half);
#endif
  }
  int chains = 12;
  auto sum = hn::Add(hn::Add(Sum(a0, a1, a2, a3), Sum(b0, b1, b2, b3)), Sum(c0, c1, c2, c3));
#if !HWY_ARCH_X86
  chains = 16;
  sum = hn::Add(sum, Sum(d0, d1, d2, d3));
#endif
  float used = hn::GetLane(sum);
  hwy::PreventElision(used);
  return 2.0 * chains * static_cast<double>(hn::Lanes(df)) * static_cast<double>(rounds);
}

}  // namespace HWY_NAMESPACE
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace skipattn {
inline namespace v0 {
namespace internal {

HWY_EXPORT(MulAddRounds);

double FmaPeakGflops(int64_t target, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto run = SKIPATTN_FUNCTION_OF(target, MulAddRounds);
  constexpr int64_t kRounds = 1 << 13;  // about 20 us: long beside a clock read, short beside a run
  double operations = 0;
  double elapsed = 0;
  const Clock::time_point start = Clock::now();
  do {
    operations += run(kRounds);
    elapsed = std::chrono::duration<double>(Clock::now() - start).count();
  } while (elapsed < seconds);
  return operations / elapsed * 1e-9;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
#endif  // HWY_ONCE
