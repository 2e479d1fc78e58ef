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

void* Allocate(size_t bytes) { return ::operator new(bytes, kAlignment, std::nothrow); }

struct Buffer {
  std::unique_ptr<void, Release> memory;
  size_t capacity = 0;
  bool in_use = false;

  void* AtLeast(size_t bytes) {
    if (capacity < bytes) {
      memory.reset();
      capacity = 0;
      memory.reset(Allocate(bytes));
      if (memory != nullptr) capacity = bytes;
    }
    return memory.get();
  }
};

Buffer& RunBuffer() {
  static thread_local Buffer buffer;
  return buffer;
}

}  // namespace

void* ThreadScratch(size_t bytes) {
  static thread_local Buffer buffer;
  return buffer.AtLeast(bytes);
}

RunScratch::RunScratch(size_t bytes) {
  if (bytes == 0) return;
  Buffer& buffer = RunBuffer();
  kept_ = !buffer.in_use;
  data_ = kept_ ? buffer.AtLeast(bytes) : Allocate(bytes);
  if (kept_) buffer.in_use = true;
}

RunScratch::~RunScratch() {
  if (kept_) {
    RunBuffer().in_use = false;
  } else {
    Release()(data_);
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
