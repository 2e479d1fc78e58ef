// RunWorkers: every way of running the workers.
#include "runtime/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

struct Calls {
  std::atomic<int> count{0};
  std::atomic<int> outside{0};  // calls from other threads than `owner`
  std::atomic<int> by_worker[64] = {};
  std::thread::id owner = std::this_thread::get_id();

  static void Add(void* calls, int worker) {
    auto* self = static_cast<Calls*>(calls);
    ++self->count;
    ++self->by_worker[worker];
    if (std::this_thread::get_id() != self->owner) ++self->outside;
  }
};

TEST(ParallelTest, OneWorkerRunsOnTheCallingThread) {
  Calls calls;
  RunWorkers(1, {}, &Calls::Add, &calls);
  EXPECT_EQ(calls.count, 1);
  EXPECT_EQ(calls.by_worker[0], 1);
  EXPECT_EQ(calls.outside, 0);
}

TEST(ParallelTest, NoWorkerRunsTwice) {
  for (int workers : {2, 3, 7}) {
    Calls calls;
    RunWorkers(workers, {}, &Calls::Add, &calls);
    EXPECT_EQ(calls.by_worker[0], 1);
    EXPECT_LE(calls.count, workers);
    for (int w = 0; w < 64; ++w) EXPECT_LE(calls.by_worker[w], w < workers ? 1 : 0) << w;
  }
}

TEST(ParallelTest, TheHookIsAskedForEveryWorker) {
  const ParallelFor hook = {[](void* context, int workers, ParallelFor::Work work, void* argument) {
                              ++*static_cast<int*>(context);
                              std::vector<std::thread> threads;
                              for (int w = 0; w < workers; ++w)
                                threads.emplace_back(work, argument, w);
                              for (std::thread& thread : threads) thread.join();
                            },
                            nullptr};
  int asked = 0;
  ParallelFor counted = hook;
  counted.context = &asked;
  Calls calls;
  RunWorkers(4, counted, &Calls::Add, &calls);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(calls.count, 4);
  EXPECT_EQ(calls.outside, 4);
  for (int w = 0; w < 4; ++w) EXPECT_EQ(calls.by_worker[w], 1);
  RunWorkers(1, counted, &Calls::Add, &calls);
  EXPECT_EQ(asked, 1) << "one worker needs nobody's threads";
}

TEST(ParallelTest, ACallFromAWorkerStaysOnItsThread) {
  struct Nested {
    std::atomic<int> inner{0}, foreign{0};
    static void Outer(void* argument, int) {
      auto* self = static_cast<Nested*>(argument);
      Calls calls;
      RunWorkers(4, {}, &Calls::Add, &calls);
      self->inner += calls.count;
      self->foreign += calls.outside;
    }
  } nested;
  RunWorkers(2, {}, &Nested::Outer, &nested);
  EXPECT_GE(nested.inner, 1);
#ifdef _OPENMP
  EXPECT_EQ(nested.foreign, 0);
#endif
}

TEST(ParallelTest, AForkedChildWorks) {
  Calls before;
  RunWorkers(2, {}, &Calls::Add, &before);  // the pool now exists
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);  // a child that waits for threads it does not have would hang
    Calls calls;
    RunWorkers(2, {}, &Calls::Add, &calls);
    _exit(calls.count == 1 && calls.outside == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
