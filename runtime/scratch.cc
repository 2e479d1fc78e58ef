// Per-thread scratch; see scratch.h.
#include "runtime/scratch.h"

#include <memory>
#include <new>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Release {
  void operator()(void* memory) const { ::operator delete(memory, kAlignment); }
};

struct Buffer {
  std::unique_ptr<void, Release> memory;
  size_t capacity = 0;
};

}  // namespace

void* ThreadScratch(ScratchUse use, size_t bytes) {
  static thread_local Buffer buffers[2];
  Buffer& buffer = buffers[use == ScratchUse::kRun];
  if (buffer.capacity < bytes) {
    buffer.memory.reset();
    buffer.capacity = 0;
    buffer.memory.reset(::operator new(bytes, kAlignment, std::nothrow));
    if (buffer.memory != nullptr) buffer.capacity = bytes;
  }
  return buffer.memory.get();
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
