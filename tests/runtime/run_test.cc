// Plan::Run: threads, workspaces, layouts, hosts and their floating-point modes change nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstdlib>
#include <new>
#include <thread>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "skipattn/attention.h"
#include "tests/attention_case.h"
#include "tests/random_mask.h"
#include "tests/runtime/c_util.h"

namespace {

std::atomic<int64_t> allocations{0};

// Not inlined: gcc would see malloc and delete meet and warn.
__attribute__((noinline)) void* Count(size_t bytes, size_t alignment) {
  ++allocations;
  return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}
__attribute__((noinline)) void Release(void* memory) { std::free(memory); }

}  // namespace

// Counts every allocation of the program.
void* operator new(size_t bytes) {
  if (void* memory = Count(bytes, 16)) return memory;
  throw std::bad_alloc();
}
void* operator new(size_t bytes, const std::nothrow_t&) noexcept { return Count(bytes, 16); }
void* operator new(size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Count(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Release(memory); }
void operator delete(void* memory, size_t) noexcept { Release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Release(memory); }

namespace skipattn::test {
namespace {

Problem BatchProblem() {
  Problem p;
  p.batch = 3;
  p.heads = 4;
  p.kv_heads = 2;
  p.q_len = p.k_len = 150;
  p.dim = 24;
  p.v_dim = 20;
  return p;
}

class RunTest : public ::testing::Test {
 protected:
  RunTest() : data_(rng_, BatchProblem()) {
    mask_ = mask::KeyLengths(lengths_) & mask::QueryLengths(lengths_) & mask::Causal();
    options_.threads = 1;
    want_ = data_.Exact(*Reference::Make(data_.problem, mask_, options_));
  }

  Plan MakeIt() const { return *MakePlan(data_.problem, mask_, options_); }

  const std::vector<int64_t> lengths_ = {150, 31, 77};
  Rng rng_{42};
  AttentionCase data_;
  Mask mask_;
  AttentionOptions options_;
  Outputs want_;
};

TEST_F(RunTest, AnyNumberOfThreads) {
  for (int threads : {0, 1, 2, 3, 8, 61}) {
    options_.threads = threads;
    EXPECT_TRUE(SameBits(data_.Run(MakeIt()), want_)) << threads;
    Outputs got = data_.EmptyOutputs();
    RunArgs args = data_.Args(got);
    args.threads = threads;
    options_.threads = 5;
    ASSERT_TRUE(MakeIt().Run(args).ok());
    EXPECT_TRUE(SameBits(got, want_)) << threads;
  }
}

TEST_F(RunTest, OnTheCallersThreads) {
  options_.threads = 4;
  options_.parallel_for.run = [](void*, int workers, ParallelFor::Work work, void* argument) {
    std::vector<std::thread> threads;
    for (int w = 0; w < workers; ++w) threads.emplace_back(work, argument, w);
    for (std::thread& thread : threads) thread.join();
  };
  EXPECT_TRUE(SameBits(data_.Run(MakeIt()), want_));
  options_.parallel_for.run = [](void*, int workers, ParallelFor::Work work, void* argument) {
    for (int w = workers; w-- > 0;) work(argument, w);  // backwards, one after the other
  };
  EXPECT_TRUE(SameBits(data_.Run(MakeIt()), want_));
}

TEST_F(RunTest, OnePlanFromManyThreadsAtOnce) {
  const Plan plan = MakeIt();
  const Plan other = *MakePlan(data_.problem, Mask(), options_);
  const Outputs other_want = data_.Exact(*Reference::Make(data_.problem, Mask(), options_));
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int n = 0; n < 3; ++n) {
        const bool first = (n + t) % 2 == 0;
        if (!SameBits(data_.Run(first ? plan : other), first ? want_ : other_want)) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST_F(RunTest, TheReferenceBackend) {
  options_.backend = Backend::kReference;
  const Plan plan = MakeIt();
  EXPECT_EQ(plan.stats().target, "reference");
  EXPECT_TRUE(SameBits(data_.Run(plan), want_));
}

TEST_F(RunTest, WithoutLse) {
  Outputs got = data_.EmptyOutputs();
  RunArgs args = data_.Args(got);
  args.lse = Tensor();
  ASSERT_TRUE(MakeIt().Run(args).ok());
  EXPECT_TRUE(SameBits(got.out, want_.out));
  EXPECT_TRUE(SameBits(got.lse, data_.EmptyOutputs().lse));
}

TEST_F(RunTest, KeepLeavesEmptyRowsAlone) {
  options_.empty_rows = EmptyRows::kKeep;
  const Outputs keep = data_.Exact(*Reference::Make(data_.problem, mask_, options_));
  Outputs got = data_.Run(MakeIt());
  EXPECT_TRUE(SameBits(got, keep));
  EXPECT_EQ(got.out.Row(1, 0, 100)[0], -77.0f);
  EXPECT_EQ(*got.lse.Row(1, 0, 100), -INFINITY);
}

TEST_F(RunTest, PoliciesForEmptyRowsWithAndWithoutSinks) {
  std::fill_n(data_.q.Row(0, 0, 5), data_.problem.dim, -3e38f);  // a row whose scores are -inf
  for (int64_t j = 0; j <= 5; ++j) std::fill_n(data_.k.Row(0, 0, j), data_.problem.dim, 3e38f);
  data_.v.Row(0, 0, 2)[1] = NAN;
  for (EmptyRows empty_rows :
       {EmptyRows::kZero, EmptyRows::kKeep, EmptyRows::kUniform, EmptyRows::kNan}) {
    options_.empty_rows = empty_rows;
    for (const bool sinks : {false, true}) {
      data_.problem.sinks = sinks;
      data_.sinks.assign(static_cast<size_t>(data_.problem.heads), -INFINITY);
      data_.sinks[0] = 1.25f;  // the other heads have none
      const Outputs want = data_.Exact(*Reference::Make(data_.problem, mask_, options_));
      const Outputs got = data_.Run(MakeIt());
      EXPECT_TRUE(SameBits(got, want)) << static_cast<int>(empty_rows) << " sinks " << sinks;
      options_.backend = Backend::kReference;
      EXPECT_TRUE(SameBits(data_.Run(MakeIt()), want));
      options_.backend = Backend::kAuto;
    }
  }
}

TEST_F(RunTest, ScoresOfMinusInfinityMakeARowEmpty) {
  // q . k overflows to -inf for every key of query 5.
  std::fill_n(data_.q.Row(0, 0, 5), data_.problem.dim, -3e38f);
  for (int64_t j = 0; j <= 5; ++j) std::fill_n(data_.k.Row(0, 0, j), data_.problem.dim, 3e38f);
  data_.v.Row(0, 0, 2)[1] = NAN;
  for (EmptyRows empty_rows : {EmptyRows::kZero, EmptyRows::kKeep}) {
    options_.empty_rows = empty_rows;
    const Outputs want = data_.Exact(*Reference::Make(data_.problem, mask_, options_));
    Outputs got = data_.Run(MakeIt());
    EXPECT_TRUE(SameBits(got, want));
    EXPECT_EQ(*got.lse.Row(0, 0, 5), -INFINITY);
    EXPECT_EQ(got.out.Row(0, 0, 5)[1], empty_rows == EmptyRows::kZero ? 0.0f : -77.0f);
  }
}

TEST_F(RunTest, AllocatesNothingAfterTheFirstRun) {
  for (int threads : {1, 2}) {
    options_.threads = threads;
    const Plan plan = MakeIt();
    Outputs got = data_.EmptyOutputs();
    const RunArgs args = data_.Args(got);
    // Which OpenMP thread takes part is up to it: a few runs reach them all.
    for (int n = 0; n < 20; ++n) ASSERT_TRUE(plan.Run(args).ok());
    const int64_t before = allocations;
    ASSERT_TRUE(plan.Run(args).ok());
    EXPECT_EQ(allocations, before) << threads << " threads";
  }
}

TEST_F(RunTest, FromCWithAnAllocatorNothingElseIsAllocated) {
  alignas(64) static char memory[1 << 20];
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.threads = 1;
  options.allocate = [](void*, size_t bytes, size_t) -> void* {
    return bytes <= sizeof(memory) ? memory : nullptr;
  };
  options.deallocate = [](void*, void*, size_t) {};
  const skipattn_problem problem = CProblem(data_.problem);
  skipattn_plan* made = nullptr;
  ASSERT_EQ(skipattn_plan_create(&problem, CausalMask().get(), &options, &made), SKIPATTN_OK);
  const CPlan plan(made);
  Outputs got = data_.EmptyOutputs();
  const RunArgs views = data_.Args(got);
  const skipattn_tensor q = CView(views.q), k = CView(views.k), v = CView(views.v);
  const skipattn_tensor out = CView(views.out), lse = CView(views.lse);
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  args.q = &q;
  args.k = &k;
  args.v = &v;
  args.out = &out;
  args.lse = &lse;
  std::thread([&] {  // which has never run anything
    const int64_t before = allocations;
    const skipattn_status status = skipattn_plan_run(plan.get(), &args);
    EXPECT_EQ(allocations, before);
    EXPECT_EQ(status, SKIPATTN_OK) << skipattn_last_error();
  })
      .join();
  EXPECT_TRUE(
      SameBits(got, data_.Exact(*Reference::Make(data_.problem, mask::Causal(), options_))));
}

TEST_F(RunTest, WithAWorkspaceNothingIsEverAllocated) {
  const Plan plan = MakeIt();
  std::vector<float> memory(plan.workspace_bytes(1) / sizeof(float) + 16);
  Outputs got = data_.EmptyOutputs();
  RunArgs args = data_.Args(got);
  void* start = memory.data();
  size_t space = memory.size() * sizeof(float);
  args.workspace = std::align(64, plan.workspace_bytes(1), start, space);
  ASSERT_NE(args.workspace, nullptr);
  args.workspace_bytes = plan.workspace_bytes(1);
  std::atomic<int64_t> during{-1};
  std::thread([&] {  // a thread without scratch of its own
    const int64_t before = allocations;
    const bool ok = plan.Run(args).ok();
    during = ok ? allocations - before : -1;
  })
      .join();
  EXPECT_EQ(during, 0);
  EXPECT_TRUE(SameBits(got, want_));

  args.workspace_bytes -= 1;
  got = data_.EmptyOutputs();
  const Status status = plan.Run(args);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("workspace_bytes"), std::string::npos) << status.message();
  EXPECT_TRUE(SameBits(got, data_.EmptyOutputs()));
}

TEST_F(RunTest, WhateverTheHostsFloatingPointModes) {
  for (int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    ASSERT_EQ(std::fesetround(mode), 0);
    const Plan plan = MakeIt();
    Outputs got = data_.Run(plan);
    EXPECT_EQ(std::fegetround(), mode);
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(SameBits(got, want_)) << mode;
  }
#if defined(__SSE__)
  for (auto& value : data_.v.storage) value *= 1e-38f;  // so that subnormals matter
  const Outputs want = data_.Exact(*Reference::Make(data_.problem, mask_, options_));
  const unsigned before = _mm_getcsr();
  for (int threads : {1, 4}) {
    options_.threads = threads;
    _mm_setcsr(0x8040 | 0x1f80);  // FTZ and DAZ
    const Plan plan = MakeIt();
    Outputs got = data_.Run(plan);
    const unsigned after = _mm_getcsr();
    _mm_setcsr(before);
    EXPECT_EQ(after & 0x8040, 0x8040u);
    EXPECT_TRUE(SameBits(got, want)) << threads;
  }
  std::feclearexcept(FE_ALL_EXCEPT);
  data_.Run(MakeIt());
  EXPECT_EQ(std::fetestexcept(FE_ALL_EXCEPT), 0) << "the flags of a run are its own";
#endif
}

TEST_F(RunTest, EmptyProblems) {
  for (int which = 0; which < 3; ++which) {
    Problem p = BatchProblem();
    (which == 0 ? p.batch : which == 1 ? p.q_len : p.k_len) = 0;
    AttentionCase data(rng_, p);
    const Result<Plan> plan = MakePlan(p, Mask(), options_);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    Outputs got = data.Run(*plan);
    for (float x : got.lse.storage) EXPECT_EQ(x, -INFINITY);
    if (which == 2) {
      EXPECT_EQ(got.out.Row(2, 3, 149)[19], 0.0f);
    }
    EXPECT_EQ(plan->stats().dense_pairs, 0);
    EXPECT_EQ(plan->stats().live_pairs, 0);
    EXPECT_FALSE(plan->Describe().empty());
  }
}

}  // namespace
}  // namespace skipattn::test
