// Tasks: simulated schedules are even for any number of threads and every kind of mask.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <string>
#include <vector>

#include "plan/plan_data.h"
#include "tests/plan/decode.h"

namespace skipattn::internal {
namespace {

Problem Sized(int64_t batch, int64_t heads, int64_t kv_heads, int64_t q_len, int64_t k_len) {
  return {batch, heads, kv_heads, q_len, k_len, 64, 64};
}

PlanData Build(const Problem& problem, const Mask& mask, int threads) {
  TileParams params;
  params.vector_lanes = 16;
  params.heights = {2, {1.3f, 2.3f, 0, 0}, 4};
  return BuildPlan(problem, mask, {}, params, test::PlainScan, threads);
}

struct Schedule {
  double slowest, mean, largest_task;
};

/// Threads take the tasks in order, each when it is free.
Schedule Simulate(const PlanData& plan, int threads) {
  std::priority_queue<double, std::vector<double>, std::greater<double>> free_at(
      std::greater<double>(), std::vector<double>(static_cast<size_t>(threads), 0.0));
  Schedule schedule = {0, 0, 0};
  for (const Task& task : plan.tasks) {
    const double end = free_at.top() + task.cost;
    free_at.pop();
    free_at.push(end);
    schedule.slowest = std::max(schedule.slowest, end);
    schedule.mean += task.cost / threads;
    schedule.largest_task = std::max(schedule.largest_task, task.cost);
  }
  return schedule;
}

struct NamedMask {
  std::string name;
  Problem problem;
  Mask mask;
};

class TasksTest : public ::testing::Test {
 protected:
  std::vector<NamedMask> Cases() const {
    return {
        {"dense", Sized(2, 4, 4, 512, 512), Mask()},
        {"causal", Sized(1, 2, 2, 2048, 2048), mask::Causal()},
        {"window", Sized(1, 2, 1, 2048, 2048), mask::Window(100, 0)},
        {"uneven lengths", Sized(4, 2, 2, 1000, 1000),
         mask::KeyLengths(lengths_) & mask::QueryLengths(lengths_)},
        {"documents", Sized(1, 2, 2, 1000, 1000),
         mask::DocumentsFromBoundaries(bounds_, bounds_) & mask::Causal()},
        {"decode", Sized(1, 8, 2, 1, 32768), Mask()},
        {"few rows", Sized(1, 1, 1, 20, 50000), mask::Causal(mask::Align::kBottomRight)},
    };
  }

  const std::vector<int64_t> lengths_ = {1000, 10, 500, 300};
  const std::vector<int64_t> bounds_ = {0, 900, 905, 1000};
};

TEST_F(TasksTest, NoThreadIsMuchSlowerThanTheMean) {
  for (const NamedMask& one : Cases()) {
    for (int threads : {1, 2, 3, 4, 8, 16, 31, 64, 128}) {
      SCOPED_TRACE(one.name + " on " + std::to_string(threads) + " threads");
      const PlanData plan = Build(one.problem, one.mask, threads);
      const Schedule schedule = Simulate(plan, threads);
      EXPECT_LE(schedule.slowest, 1.05 * schedule.mean + schedule.largest_task);
      // And one task is little, unless a chunk of keys is all that a task can be.
      if (threads <= 8) {
        EXPECT_LE(schedule.slowest, 1.15 * schedule.mean);
      }
    }
  }
}

TEST_F(TasksTest, FewTilesAreSplitAtChunks) {
  for (const NamedMask& one : Cases()) {
    for (int threads : {1, 2, 8, 128}) {
      SCOPED_TRACE(one.name + " on " + std::to_string(threads) + " threads");
      const PlanData plan = Build(one.problem, one.mask, threads);
      if (threads == 1) {
        EXPECT_TRUE(plan.splits.empty());
      }
      std::vector<std::vector<const Task*>> parts(plan.splits.size());
      for (const Task& task : plan.tasks) {
        if (task.split >= 0) parts[static_cast<size_t>(task.split)].push_back(&task);
      }
      size_t states = 0;
      for (size_t n = 0; n < parts.size(); ++n) {
        std::sort(parts[n].begin(), parts[n].end(),
                  [](const Task* x, const Task* y) { return x->chunk_begin < y->chunk_begin; });
        const Split& split = plan.splits[n];
        ASSERT_EQ(static_cast<int64_t>(parts[n].size()), split.parts);
        EXPECT_GE(split.parts, 2);
        EXPECT_GE(split.states, states);
        states = split.states + static_cast<size_t>(split.chunks);
        int64_t next = 0;
        for (const Task* part : parts[n]) {
          EXPECT_EQ(part->chunk_begin, next);
          EXPECT_GT(part->chunk_end, part->chunk_begin);
          EXPECT_EQ(part->tile_end, part->tile_begin + 1);
          next = part->chunk_end;
        }
        EXPECT_EQ(next, split.chunks);
        const Plane& plane = plan.PlaneOf(parts[n][0]->b, parts[n][0]->slot);
        const Tile& tile = plane.tiles[static_cast<size_t>(parts[n][0]->tile_begin)];
        EXPECT_EQ(split.chunks, CountChunks(plane, tile).touched);
      }
      EXPECT_LE(states, plan.state_floats);
    }
  }
  EXPECT_FALSE(Build(Cases()[5].problem, Mask(), 8).splits.empty()) << "decode on 8 threads";
}

TEST_F(TasksTest, LongestFirst) {
  const PlanData plan = Build(Cases()[3].problem, Cases()[3].mask, 4);
  std::vector<int64_t> order;
  for (const Task& task : plan.tasks) {
    if (task.tile_begin == task.tile_end) {
      EXPECT_EQ(order.size(), 4u) << "empty rows come last";
    } else if (order.empty() || order.back() != task.b) {
      order.push_back(task.b);
    }
  }
  EXPECT_EQ(order, (std::vector<int64_t>{0, 2, 3, 1}));
}

}  // namespace
}  // namespace skipattn::internal
