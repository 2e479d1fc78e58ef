// What a core can do at most: the yardstick of every speed figure.
#ifndef SKIPATTN_KERNELS_FMA_PEAK_H_
#define SKIPATTN_KERNELS_FMA_PEAK_H_

#include <cstdint>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Runs independent multiply-adds of the target `target` (a Highway target bit that this CPU
/// supports and that is compiled) on the calling thread for about `seconds`; returns 1e9
/// floating-point operations a second, two per multiply-add and lane.
double FmaPeakGflops(int64_t target, double seconds);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_FMA_PEAK_H_
