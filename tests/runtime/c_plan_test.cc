// Plans of the C interface: whose memory, whose threads, and that one plan serves many threads.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "skipattn/attention.h"
#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace {

using test::Array4;
using test::CComplains;
using test::CPlan;

/// A causal problem with its answer, and what C needs to run it.
class CPlanTest : public testing::Test {
 protected:
  CPlanTest() : inputs_(Sizes(), 1), want_(OutShape()) {
    RunArgs args = inputs_.Args();
    args.out = want_.View();
    EXPECT_TRUE(Attention(args, mask::Causal()).ok());
  }

  static Problem Sizes() {
    Problem p = test::MakeProblem(70, 70, 16);
    p.batch = 2;
    p.heads = p.kv_heads = 3;
    return p;
  }
  static std::array<int64_t, 4> OutShape() { return {2, 3, 70, 16}; }

  CPlan Plan(const skipattn_options& options) {
    const skipattn_problem problem = test::CProblem(Sizes());
    skipattn_plan* plan = nullptr;
    EXPECT_EQ(skipattn_plan_create(&problem, test::CausalMask().get(), &options, &plan), 0)
        << skipattn_last_error();
    return CPlan(plan);
  }

  /// `run` is called with arguments that write to `out`.
  template <typename Run>
  skipattn_status With(Array4& out, const Run& run) {
    const skipattn_tensor q = test::CView(inputs_.q.View()), k = test::CView(inputs_.k.View());
    const skipattn_tensor v = test::CView(inputs_.v.View()), o = test::CView(out.View());
    skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
    args.q = &q;
    args.k = &k;
    args.v = &v;
    args.out = &o;
    return run(&args);
  }

  const test::Inputs inputs_;
  Array4 want_;
};

/// An allocator that counts, and may have no memory or bad one.
struct Heap {
  int given = 0, taken = 0, wrong = 0;
  size_t bytes = 0;
  bool empty = false;
  size_t shift = 0;
  std::vector<char> memory;
  char* last = nullptr;

  static void* Allocate(void* heap, size_t bytes, size_t alignment) {
    auto* self = static_cast<Heap*>(heap);
    if (self->empty) return nullptr;
    ++self->given;
    self->bytes = bytes;
    self->memory.assign(bytes + 2 * alignment, 'x');
    const uintptr_t begin = reinterpret_cast<uintptr_t>(self->memory.data());
    self->last = self->memory.data() + (alignment - begin % alignment) + self->shift;
    return self->last;
  }
  static void Deallocate(void* heap, void* memory, size_t bytes) {
    auto* self = static_cast<Heap*>(heap);
    ++self->taken;
    self->wrong += memory != self->last || bytes != self->bytes;
  }
  skipattn_options Options() {
    skipattn_options options = SKIPATTN_OPTIONS_INIT;
    options.allocate = Allocate;
    options.deallocate = Deallocate;
    options.allocator_context = this;
    return options;
  }
};

TEST_F(CPlanTest, ScratchComesFromTheCallersAllocator) {
  Heap heap;
  const skipattn_options options = heap.Options();
  const CPlan plan = Plan(options);
  EXPECT_EQ(heap.given, 0);
  for (int32_t threads : {1, 2}) {
    Array4 out(OutShape());
    size_t bytes = 0;
    ASSERT_EQ(skipattn_plan_workspace_bytes(plan.get(), threads, &bytes), SKIPATTN_OK);
    EXPECT_EQ(With(out,
                   [&](skipattn_run_args* args) {
                     args->threads = threads;
                     return skipattn_plan_run(plan.get(), args);
                   }),
              SKIPATTN_OK);
    EXPECT_TRUE(test::SameBits(out.data, want_.data));
    EXPECT_EQ(heap.given, threads);
    EXPECT_EQ(heap.taken, threads);
    EXPECT_EQ(heap.bytes, bytes);
  }
  Array4 out(OutShape());
  EXPECT_EQ(With(out,
                 [&](skipattn_run_args* args) {
                   return skipattn_attention(args, test::CausalMask().get(), &options);
                 }),
            SKIPATTN_OK);
  EXPECT_TRUE(test::SameBits(out.data, want_.data));
  EXPECT_EQ(heap.given, 3);
  EXPECT_EQ(heap.taken, 3);
  EXPECT_EQ(heap.wrong, 0);
}

TEST_F(CPlanTest, TheAllocatorIsNotAskedInVain) {
  Heap heap;
  const CPlan plan = Plan(heap.Options());
  Array4 out(OutShape());
  size_t bytes = 0;
  ASSERT_EQ(skipattn_plan_workspace_bytes(plan.get(), 0, &bytes), SKIPATTN_OK);
  std::vector<char> memory(bytes + 64);
  EXPECT_EQ(With(out,
                 [&](skipattn_run_args* args) {
                   const uintptr_t begin = reinterpret_cast<uintptr_t>(memory.data());
                   args->workspace = memory.data() + (64 - begin % 64) % 64;
                   args->workspace_bytes = bytes;
                   return skipattn_plan_run(plan.get(), args);
                 }),
            SKIPATTN_OK);
  EXPECT_TRUE(test::SameBits(out.data, want_.data));
  EXPECT_TRUE(CComplains(With(out,
                              [&](skipattn_run_args* args) {
                                args->threads = -1;
                                return skipattn_plan_run(plan.get(), args);
                              }),
                         {"threads is -1"}));
  EXPECT_TRUE(CComplains(With(out,
                              [&](skipattn_run_args* args) {
                                args->v = nullptr;
                                return skipattn_plan_run(plan.get(), args);
                              }),
                         {"v is not given"}));
  EXPECT_EQ(heap.given, 0);
}

TEST_F(CPlanTest, AnAllocatorWithoutMemoryIsAnError) {
  Heap heap;
  const CPlan plan = Plan(heap.Options());
  Array4 out(OutShape(), 7.0f);
  const auto run = [&](skipattn_run_args* args) { return skipattn_plan_run(plan.get(), args); };
  heap.empty = true;
  EXPECT_EQ(With(out, run), SKIPATTN_OUT_OF_MEMORY);
  EXPECT_NE(std::string(skipattn_last_error()).find("allocate"), std::string::npos);
  heap.empty = false;
  heap.shift = 8;
  EXPECT_TRUE(CComplains(With(out, run), {"allocate", "8 bytes beyond a multiple of 64"}));
  EXPECT_EQ(heap.given, 1);
  EXPECT_EQ(heap.taken, 1) << "what cannot be used is given back";
  EXPECT_TRUE(test::SameBits(out.data, Array4(OutShape(), 7.0f).data)) << "nothing is written";
}

TEST_F(CPlanTest, TheCallersThreadsRun) {
  static std::atomic<int> workers_run{0};
  struct Pool {
    int calls = 0, workers = 0;
    static void Run(void* context, int workers, skipattn_work work, void* argument) {
      auto* self = static_cast<Pool*>(context);
      ++self->calls;
      self->workers = workers;
      std::vector<std::thread> threads;
      for (int w = 0; w < workers; ++w) {
        threads.emplace_back([=] {
          work(argument, w);
          ++workers_run;
        });
      }
      for (std::thread& thread : threads) thread.join();
    }
  } pool;
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.threads = 3;
  options.parallel_for = Pool::Run;
  options.parallel_for_context = &pool;
  const CPlan plan = Plan(options);
  Array4 out(OutShape());
  EXPECT_EQ(With(out, [&](skipattn_run_args* args) { return skipattn_plan_run(plan.get(), args); }),
            0);
  EXPECT_TRUE(test::SameBits(out.data, want_.data));
  EXPECT_EQ(pool.calls, 1);
  EXPECT_EQ(pool.workers, 3);
  EXPECT_EQ(workers_run, 3);
}

TEST_F(CPlanTest, ThreadsShareAPlan) {
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.threads = 1;
  const CPlan plan = Plan(options);
  std::vector<const char*> texts(4);
  std::vector<std::thread> threads;
  for (size_t n = 0; n < texts.size(); ++n) {
    threads.emplace_back([&, n] {
      Array4 out(OutShape());
      EXPECT_EQ(
          With(out, [&](skipattn_run_args* args) { return skipattn_plan_run(plan.get(), args); }),
          0);
      EXPECT_TRUE(test::SameBits(out.data, want_.data));
      EXPECT_EQ(skipattn_plan_describe(plan.get(), &texts[n]), SKIPATTN_OK);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const char* text : texts) EXPECT_EQ(text, texts[0]) << "made once";
  EXPECT_NE(std::string(texts[0]).find("problem   batch 2"), std::string::npos);
}

TEST_F(CPlanTest, StatsNameWhatWasAskedFor) {
  const char* config = nullptr;
  size_t count = 0;
  ASSERT_EQ(skipattn_config_count("", &count), SKIPATTN_OK);
  ASSERT_EQ(skipattn_config_get("", count - 1, &config), SKIPATTN_OK);
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.config = config;
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  {
    const CPlan plan = Plan(options);
    ASSERT_EQ(skipattn_plan_get_stats(plan.get(), &stats), SKIPATTN_OK);
  }
  EXPECT_STREQ(stats.config, config) << "and the names outlive the plan";
  EXPECT_EQ(stats.target, BestTarget());
  options.backend = SKIPATTN_BACKEND_REFERENCE;
  ASSERT_EQ(skipattn_plan_get_stats(Plan(options).get(), &stats), SKIPATTN_OK);
  EXPECT_STREQ(stats.target, "reference");
}

TEST_F(CPlanTest, AFailureWritesNothing) {
  Array4 out(OutShape(), 7.0f);
  EXPECT_TRUE(CComplains(
      With(out,
           [&](skipattn_run_args* args) { return skipattn_attention(args, nullptr, nullptr); }),
      {"mask is a null pointer", "skipattn_mask_everything"}));
  EXPECT_TRUE(test::SameBits(out.data, Array4(OutShape(), 7.0f).data));
  size_t bytes = 7;
  EXPECT_TRUE(
      CComplains(skipattn_plan_workspace_bytes(Plan(SKIPATTN_OPTIONS_INIT).get(), -2, &bytes),
                 {"threads is -2"}));
  EXPECT_EQ(bytes, 7u);
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
