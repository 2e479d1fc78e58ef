// Bool bytes to bits, vectorised.
#ifndef SKIPATTN_KERNELS_SCAN_BITS_H_
#define SKIPATTN_KERNELS_SCAN_BITS_H_

#include <cstdint>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

using ScanFunction = void (*)(const uint8_t* bytes, int64_t count, uint64_t* words);

/// For a compiled and supported target bit: a function that sets bit t of `words` where byte t is
/// not 0, for t in [0, count), and clears the rest of the last word. It reads no byte beyond
/// `count`.
ScanFunction ScanBitsFunction(int64_t target);

/// What there is among numbers that are compared with a limit: some up to it that are above -inf;
/// beyond it some that are not 0, and some that look as if they should mask. Joined by "or".
enum Found : uint32_t {
  kFoundNothing = 0,
  kFoundFiniteLow = 1,
  kFoundNonzeroAbove = 2,
  kFoundLargeAbove = 4  // kLooksMasking or less
};
inline constexpr float kLooksMasking = -1e4f;

/// Bit t of `words` is whether element t is not `most` or less: NaN is above everything. By the
/// best target of this CPU; bits beyond `count` are 0. Returns what was found.
uint32_t ScanAbove(const float* values, int64_t count, float most, uint64_t* words);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_SCAN_BITS_H_
