// Bool bytes to bits for every target; see scan_bits.h.
#include "kernels/scan_bits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/scan_bits.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// clang-format: keep this order
#include "hwy/highway.h"
#include "kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace skipattn {
inline namespace v0 {
namespace internal {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void ScanBits(const uint8_t* bytes, int64_t count, uint64_t* words) {
  // At most 64 lanes, so that a vector's mask fits into a word; branch-free inside a word.
  const hn::CappedTag<uint8_t, 64> d;
  const size_t lanes = hn::Lanes(d);
  const auto zero = hn::Zero(d);
  const size_t size = static_cast<size_t>(count);
  size_t t = 0;
  for (; t + 64 <= size; t += 64) {
    uint64_t word = 0;
    for (size_t part = 0; part < 64; part += lanes) {
      uint8_t mask[8] = {};
      hn::StoreMaskBits(d, hn::Ne(hn::LoadU(d, bytes + t + part), zero), mask);
      uint64_t bits;
      hwy::CopyBytes<sizeof(bits)>(mask, &bits);
      word |= bits << part;
    }
    words[t / 64] = word;
  }
  if (t < size) {
    uint64_t word = 0;
    for (size_t n = t; n < size; ++n) word |= uint64_t{bytes[n] != 0} << (n - t);
    words[t / 64] = word;
  }
}

uint32_t ScanFloats(const float* values, int64_t count, float most, uint64_t* words) {
  const hn::CappedTag<float, 64> d;
  const size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, most), lowest = hn::Set(d, -hwy::HighestValue<float>());
  const auto zero = hn::Zero(d), large = hn::Set(d, kLooksMasking);
  const size_t size = static_cast<size_t>(count);
  auto large_above = hn::FirstN(d, 0);
  auto finite_low = hn::FirstN(d, 0), nothing_adds = hn::FirstN(d, lanes);
  size_t t = 0;
  for (; t + 64 <= size; t += 64) {
    uint64_t word = 0;
    for (size_t part = 0; part < 64; part += lanes) {
      const auto v = hn::LoadU(d, values + t + part);
      const auto low = hn::Le(v, limit);
      finite_low = hn::Or(finite_low, hn::And(low, hn::Ge(v, lowest)));
      // By what holds for no NaN: of NaN and 0 Highway's Ne says what the target does.
      nothing_adds = hn::And(nothing_adds, hn::Or(low, hn::Eq(v, zero)));
      large_above = hn::Or(large_above, hn::AndNot(low, hn::Le(v, large)));
      uint8_t mask[8] = {};
      hn::StoreMaskBits(d, low, mask);
      uint64_t bits;
      hwy::CopyBytes<sizeof(bits)>(mask, &bits);
      word |= bits << part;
    }
    words[t / 64] = ~word;
  }
  uint32_t found = (hn::AllFalse(d, finite_low) ? 0u : kFoundFiniteLow) |
                   (hn::AllTrue(d, nothing_adds) ? 0u : kFoundNonzeroAbove) |
                   (hn::AllFalse(d, large_above) ? 0u : kFoundLargeAbove);
  if (t < size) {
    uint64_t word = 0;
    for (size_t n = t; n < size; ++n) {
      const bool above = !(values[n] <= most);
      word |= uint64_t{above} << (n - t);
      if (above && values[n] != 0) found |= kFoundNonzeroAbove;
      if (above && values[n] <= kLooksMasking) found |= kFoundLargeAbove;
      if (!above && values[n] >= -hwy::HighestValue<float>()) found |= kFoundFiniteLow;
    }
    words[t / 64] = word;
  }
  return found;
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

HWY_EXPORT(ScanBits);

ScanFunction ScanBitsFunction(int64_t target) { return SKIPATTN_FUNCTION_OF(target, ScanBits); }

HWY_EXPORT(ScanFloats);

uint32_t ScanAbove(const float* values, int64_t count, float most, uint64_t* words) {
  static const auto scan = [] {
    const int64_t usable = HWY_TARGETS & hwy::SupportedTargets();
    return SKIPATTN_FUNCTION_OF(usable & -usable, ScanFloats);  // the lowest bit is the best
  }();
  return scan(values, count, most, words);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
#endif  // HWY_ONCE
