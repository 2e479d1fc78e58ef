// Keys split over tasks: the same bits, whatever the parts and whoever ends last.
#include "runtime/task_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "runtime/plan_impl.h"
#include "tests/attention_case.h"
#include "tests/random_mask.h"

namespace skipattn::test {
namespace {

Problem LongKeys(Rng& rng) {
  Problem p;
  p.batch = 1;
  p.kv_heads = PickOf(rng, {1, 2});
  p.heads = p.kv_heads * PickOf(rng, {1, 4});
  p.q_len = PickOf(rng, {1, 2, 9, 40});
  p.k_len = PickOf(rng, {129, 500, 1111, 2000});
  p.dim = PickOf(rng, {4, 8, 20});
  p.v_dim = PickOf(rng, {1, 8, 20, 33});
  return p;
}

void OnThreads(void*, int workers, ParallelFor::Work work, void* argument) {
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) threads.emplace_back(work, argument, w);
  for (std::thread& thread : threads) thread.join();
}

void Backwards(void*, int workers, ParallelFor::Work work, void* argument) {
  for (int w = workers; w-- > 0;) work(argument, w);
}

TEST(TaskRunnerTest, SplitKeysGiveTheSameBits) {
  int64_t splits = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Rng rng(seed);
    const Problem problem = LongKeys(rng);
    const RandomMask random(rng, problem);
    const Mask mask = OneIn(rng, 3) ? random.mask : Mask();
    SCOPED_TRACE("seed " + std::to_string(seed));
    AttentionCase data(rng, problem);
    if (OneIn(rng, 2)) {
      for (int n = 0; n < 3; ++n) {
        data.v.Row(0, 0, Uniform(rng, 0, problem.k_len - 1))[0] = OneIn(rng, 2) ? NAN : INFINITY;
      }
    }
    if (OneIn(rng, 4)) data.k.Row(0, 0, Uniform(rng, 0, problem.k_len - 1))[0] = NAN;
    AttentionOptions options;
    const Outputs want = data.Exact(*Reference::Make(problem, mask, options));
    for (const TargetConfig& one : AllConfigs()) {
      if (!one.exact) continue;
      SCOPED_TRACE(one.target + " " + one.config);
      options.target = one.target;
      options.config = one.config;
      options.threads = static_cast<int>(PickOf(rng, {2, 3, 16}));
      options.parallel_for.run = OneIn(rng, 2) ? &OnThreads : &Backwards;
      const Plan plan = *MakePlan(problem, mask, options);
      splits += static_cast<int64_t>(plan.impl().data.splits.size());
      ASSERT_TRUE(SameBits(data.Run(plan), want));
    }
  }
  EXPECT_GT(splits, 100) << "nothing was split";
}

TEST(TaskRunnerTest, ASplitRunFitsIntoItsWorkspace) {
  Rng rng(1);
  Problem p;
  p.batch = p.heads = p.kv_heads = p.q_len = 1;
  p.k_len = 3000;
  p.dim = p.v_dim = 16;
  AttentionCase data(rng, p);
  AttentionOptions options;
  options.threads = 4;
  const Plan plan = *MakePlan(p, Mask(), options);
  ASSERT_EQ(plan.impl().data.splits.size(), 1u);
  const size_t bytes = plan.workspace_bytes();
  EXPECT_GT(bytes, 4 * plan.impl().worker_bytes);
  std::vector<char> memory(bytes + 64 + 8, 'x');
  void* start = memory.data();
  size_t space = bytes + 64;
  Outputs got = data.EmptyOutputs();
  RunArgs args = data.Args(got);
  args.workspace = std::align(64, bytes, start, space);
  args.workspace_bytes = bytes;
  ASSERT_TRUE(plan.Run(args).ok());
  EXPECT_TRUE(SameBits(got, data.Exact(*Reference::Make(p, Mask(), options))));
  for (char* at = static_cast<char*>(args.workspace) + bytes; at < memory.data() + memory.size();
       ++at) {
    EXPECT_EQ(*at, 'x') << "written behind the workspace";
  }
}

}  // namespace
}  // namespace skipattn::test
