// Threads: the only place that knows OpenMP.
#ifndef SKIPATTN_RUNTIME_PARALLEL_H_
#define SKIPATTN_RUNTIME_PARALLEL_H_

#include "skipattn/options.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Calls work(argument, w) once for each w in [0, workers), through the hook where it is given,
/// else on OpenMP threads; returns when all calls have. On the calling thread alone, with no call
/// into OpenMP's thread pool, for one worker, inside a parallel region, in a child forked after the
/// pool was used (where OpenMP's threads do not exist), or without OpenMP. Some w may then be left
/// out, but never 0: workers must take their work from a shared counter.
void RunWorkers(int workers, const ParallelFor& hook, ParallelFor::Work work, void* argument);

/// Whether the library was built with OpenMP.
bool HasOpenMP();

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_PARALLEL_H_
