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

}  // namespace

void* ThreadScratch(size_t bytes) {
  static thread_local std::unique_ptr<void, Release> memory;
  static thread_local size_t capacity = 0;
  if (capacity < bytes) {
    memory.reset();
    capacity = 0;
    memory.reset(::operator new(bytes, kAlignment, std::nothrow));
    if (memory != nullptr) capacity = bytes;
  }
  return memory.get();
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
