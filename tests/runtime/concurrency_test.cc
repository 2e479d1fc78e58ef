// A host's own threads in every constellation, for the thread sanitizer above all: its pool runs
// the work of several plans at once, and plans come and go meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

/// Threads that take jobs from one queue. Who waits for jobs of its own takes up others meanwhile.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int t = 0; t < threads; ++t) {
      threads_.emplace_back([this] { TakeJobsUntil([] { return false; }); });
    }
  }
  ~Pool() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// Runs all jobs, on any of the threads and on the calling one.
  void RunAll(std::vector<std::function<void()>> jobs) {
    std::atomic<size_t> left{jobs.size()};
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      for (std::function<void()>& job : jobs) {
        queue_.push_back([this, &left, job = std::move(job)] {
          job();
          // Under the lock: the one who waits must not miss it, nor end before this is done.
          const std::lock_guard<std::mutex> done(mutex_);
          --left;
          changed_.notify_all();
        });
      }
    }
    changed_.notify_all();
    TakeJobsUntil([&] { return left == 0; });
  }

  ParallelFor Hook() {
    return {[](void* pool, int workers, ParallelFor::Work work, void* argument) {
              std::vector<std::function<void()>> jobs;
              for (int w = 0; w < workers; ++w) {
                jobs.emplace_back([=] { work(argument, w); });
              }
              static_cast<Pool*>(pool)->RunAll(std::move(jobs));
            },
            this};
  }

 private:
  void TakeJobsUntil(const std::function<bool()>& ready) {
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return ready() || closed_ || !queue_.empty(); });
      if (ready() || queue_.empty()) return;
      const std::function<void()> job = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> queue_;
  bool closed_ = false;
  std::vector<std::thread> threads_;
};

void OnThreads(int count, const std::function<void(int)>& run) {
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t) threads.emplace_back(run, t);
  for (std::thread& thread : threads) thread.join();
}

/// So few rows and so many keys that tiles are split, whose parts meet in shared memory.
Problem FewRows() {
  Problem p;
  p.batch = 1;
  p.heads = p.kv_heads = 2;
  p.q_len = 20;
  p.k_len = 700;
  p.dim = p.v_dim = 8;
  return p;
}

class ConcurrencyTest : public ::testing::Test {
 protected:
  ConcurrencyTest() : data_(rng_, FewRows()) {
    options_.threads = 4;
    for (const Mask& mask : masks_) {
      want_.push_back(data_.Exact(*Reference::Make(data_.problem, mask, options_)));
    }
  }

  Plan MakeIt(size_t mask) const { return *MakePlan(data_.problem, masks_[mask], options_); }

  /// For any thread: runs a plan of that mask, and counts results that are not its.
  void RunAndCount(const Plan& plan, size_t mask) {
    Outputs got = data_.EmptyOutputs();
    if (!plan.Run(data_.Args(got)).ok() || !SameBits(got, want_[mask])) ++wrong_;
  }

  const std::vector<Mask> masks_ = {Mask(), mask::Causal(mask::Align::kBottomRight)};
  Rng rng_{3};
  AttentionCase data_;
  AttentionOptions options_;
  std::vector<Outputs> want_;
  std::atomic<int> wrong_{0};
};

// Each test is a process of its own under ctest, so what is set up on first use is set up here.
TEST(FirstUseTest, FromEightThreadsAtOnce) {
  Rng rng(4);
  AttentionCase data(rng, FewRows());
  std::vector<Outputs> got(8, data.EmptyOutputs());
  std::atomic<int> failures{0};
  OnThreads(8, [&](int t) {
    AttentionOptions options;
    options.threads = 1 + t % 2;
    const std::string target = t < 4 ? "" : BestTarget();
    options.target = target;
    if (!Attention(data.Args(got[static_cast<size_t>(t)]), {}, options).ok()) ++failures;
  });
  EXPECT_EQ(failures, 0);
  const Outputs want = data.Exact(*Reference::Make(data.problem, {}));
  for (const Outputs& one : got) EXPECT_TRUE(SameBits(one, want));
}

TEST_F(ConcurrencyTest, OnePoolRunsThePlansOfSeveralThreads) {
  Pool pool(3);
  options_.parallel_for = pool.Hook();
  const Plan plans[] = {MakeIt(0), MakeIt(1)};
  OnThreads(3, [&](int t) {
    for (int n = 0; n < 4; ++n) {
      const size_t mask = static_cast<size_t>(n + t) % 2;
      RunAndCount(plans[mask], mask);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

// Whole runs are jobs of the pool that their own workers are jobs of: a thread that waits for the
// workers of its run begins another run.
TEST_F(ConcurrencyTest, RunsInsideRuns) {
  Pool pool(2);
  options_.parallel_for = pool.Hook();
  const Plan plans[] = {MakeIt(0), MakeIt(1)};
  for (int round = 0; round < 3; ++round) {
    std::vector<std::function<void()>> jobs;
    for (size_t n = 0; n < 12; ++n) {
      jobs.emplace_back([&, mask = n % 2] { RunAndCount(plans[mask], mask); });
    }
    pool.RunAll(std::move(jobs));
  }
  EXPECT_EQ(wrong_, 0);
}

TEST_F(ConcurrencyTest, PlansComeAndGo) {
  std::mutex mutex;
  Plan current = MakeIt(0);
  OnThreads(4, [&](int t) {
    for (int n = 0; n < 6; ++n) {
      if (t == 0) {
        const Plan next = MakeIt(0);
        const std::lock_guard<std::mutex> lock(mutex);
        current = next;  // the last one ends with whoever runs it last
        continue;
      }
      std::unique_lock<std::mutex> lock(mutex);
      const Plan mine = current;
      lock.unlock();
      RunAndCount(mine, 0);
    }
  });
  EXPECT_EQ(wrong_, 0);
}

TEST_F(ConcurrencyTest, OneReferenceForAllThreads) {
  const Reference reference = *Reference::Make(data_.problem, masks_[1]);
  OnThreads(4, [&](int) {
    if (!SameBits(data_.Exact(reference), want_[1])) ++wrong_;
  });
  EXPECT_EQ(wrong_, 0);
}

}  // namespace
}  // namespace skipattn::test
