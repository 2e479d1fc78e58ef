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

/// Bit t of `words` is whether element t is not `most` or less: NaN is above everything. By the
/// best target of this CPU; bits beyond `count` are 0.
void ScanAbove(const float* values, int64_t count, float most, uint64_t* words);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_SCAN_BITS_H_
