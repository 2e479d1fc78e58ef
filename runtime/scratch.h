// Per-thread scratch that is kept between runs.
#ifndef SKIPATTN_RUNTIME_SCRATCH_H_
#define SKIPATTN_RUNTIME_SCRATCH_H_

#include <cstddef>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Two buffers a thread: what it computes in, and what a run that it began shares with others.
enum class ScratchUse { kWorker, kRun };

/// At least `bytes` bytes, aligned to 64, that belong to the calling thread until it asks again for
/// the same use or ends; null if there is no memory. Allocates only when more is asked for than
/// ever before.
void* ThreadScratch(ScratchUse use, size_t bytes);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_SCRATCH_H_
