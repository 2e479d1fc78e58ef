// OpenMP, and what happens without it; see parallel.h.
//
// No SIMD code here: clang compiles the body of a parallel region without the target attributes of
// the function around it.
#include "runtime/parallel.h"

#if SKIPATTN_HAVE_OPENMP
#include <omp.h>
#include <unistd.h>

#include <atomic>
#endif

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

#if SKIPATTN_HAVE_OPENMP
/// Whether this process may start OpenMP threads: not if it was forked from one that did.
bool OwnsThreadPool() {
  static std::atomic<pid_t> owner{0};
  const pid_t self = getpid();
  pid_t none = 0;
  return owner.compare_exchange_strong(none, self) || none == self;
}

constexpr bool kOpenMP = true;

bool RunOpenMP(int workers, ParallelFor::Work work, void* argument) {
  if (omp_in_parallel() || !OwnsThreadPool()) return false;
#pragma omp parallel num_threads(workers)
  work(argument, omp_get_thread_num());
  return true;
}
#else
constexpr bool kOpenMP = false;

bool RunOpenMP(int, ParallelFor::Work, void*) { return false; }
#endif

}  // namespace

bool HasOpenMP() { return kOpenMP; }

void RunWorkers(int workers, const ParallelFor& hook, ParallelFor::Work work, void* argument) {
  if (workers > 1 && hook.run != nullptr) {
    hook.run(hook.context, workers, work, argument);
  } else if (workers <= 1 || !RunOpenMP(workers, work, argument)) {
    work(argument, 0);
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
