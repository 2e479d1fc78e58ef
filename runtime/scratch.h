// Per-thread scratch that is kept between runs.
#ifndef SKIPATTN_RUNTIME_SCRATCH_H_
#define SKIPATTN_RUNTIME_SCRATCH_H_

#include <cstddef>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// At least `bytes` bytes, aligned to 64, that belong to the calling thread until it asks again or
/// ends; null if there is no memory. Allocates only when more is asked for than ever before.
void* ThreadScratch(size_t bytes);

/// Memory that the workers of one run share, kept by the thread that began the run. A caller's pool
/// may let that thread begin other runs while this one waits for its workers: such a run gets
/// memory of its own.
class RunScratch {
 public:
  /// At least `bytes` bytes, aligned to 64, until the end of the scope.
  explicit RunScratch(size_t bytes);
  ~RunScratch();
  RunScratch(const RunScratch&) = delete;
  RunScratch& operator=(const RunScratch&) = delete;

  /// Null if there is no memory, or 0 bytes were asked for.
  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  bool kept_ = false;  // the thread's buffer, not memory of its own
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_SCRATCH_H_
