// Runs a plan: workers take tasks from a shared counter and call a kernel for each tile.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/float_env.h"
#include "runtime/parallel.h"
#include "runtime/plan_impl.h"
#include "runtime/scratch.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// A view of f32 elements as a pointer that indices are added to.
template <typename Data, typename View>
Data* At(const View& view, int64_t b, int64_t h, int64_t t) {
  return static_cast<Data*>(view.data) + b * view.stride[0] + h * view.stride[1] +
         t * view.stride[2];
}

/// What all workers of a run share.
class Runner {
 public:
  Runner(const Plan::Impl& plan, const RunArgs& args) : plan_(plan), args_(args) {}

  /// For RunWorkers.
  static void Work(void* runner, int worker) { static_cast<Runner*>(runner)->TakeTasks(worker); }

  bool out_of_memory() const { return out_of_memory_.load(); }

 private:
  void TakeTasks(int worker) {
    void* scratch = args_.workspace == nullptr
                        ? ThreadScratch(plan_.worker_bytes)
                        : static_cast<char*>(args_.workspace) +
                              static_cast<size_t>(worker) * plan_.worker_bytes;
    if (scratch == nullptr) {
      out_of_memory_ = true;
      return;
    }
    const ScopedFloatEnv env;
    const std::vector<Task>& tasks = plan_.data.tasks;
    for (size_t t; (t = next_.fetch_add(1, std::memory_order_relaxed)) < tasks.size();) {
      const Task& task = tasks[t];
      if (task.tile_begin == task.tile_end) {
        FillEmptyRows(task);
      } else {
        RunTiles(task, static_cast<float*>(scratch));
      }
    }
  }

  void RunTiles(const Task& task, float* scratch) const {
    const PlanData& data = plan_.data;
    const Plane& plane = data.PlaneOf(task.b, task.slot);
    const int64_t kv_head =
        task.slot * data.params.heads / (data.problem.heads / data.problem.kv_heads);
    const float* q[kMaxTileRows];
    float* out[kMaxTileRows];
    float* lse[kMaxTileRows];
    int64_t lo[kMaxTileRows], hi[kMaxTileRows];
    TileArgs tile = {};
    tile.q = q;
    tile.out = out;
    tile.lse = args_.lse.given() ? lse : nullptr;
    tile.lo = lo;
    tile.hi = hi;
    tile.dim = static_cast<size_t>(data.problem.dim);
    tile.v_dim = static_cast<size_t>(data.problem.v_dim);
    tile.q_scale = plan_.q_scale;
    tile.k = At<const float>(args_.k, task.b, kv_head, 0);
    tile.v = At<const float>(args_.v, task.b, kv_head, 0);
    tile.k_stride = args_.k.stride[2];
    tile.v_stride = args_.v.stride[2];
    tile.lane_bits = plane.lane_bits.data();
    tile.empty_rows = plan_.empty_rows;
    tile.scratch = scratch;
    for (int64_t t = task.tile_begin; t < task.tile_end; ++t) {
      const Tile& one = plane.tiles[static_cast<size_t>(t)];
      tile.rows = static_cast<size_t>(one.lanes);
      tile.segments = plane.segments.data() + one.first_segment;
      tile.segment_count = static_cast<size_t>(one.segment_count);
      tile.origin = one.origin;
      for (int32_t lane = 0; lane < one.lanes; ++lane) {
        const int64_t row = (one.first_lane + lane) / data.params.heads;
        const int64_t head =
            task.slot * data.params.heads + (one.first_lane + lane) % data.params.heads;
        const int64_t query = plane.queries[static_cast<size_t>(row)];
        q[lane] = At<const float>(args_.q, task.b, head, query);
        out[lane] = At<float>(args_.out, task.b, head, query);
        if (args_.lse.given()) lse[lane] = At<float>(args_.lse, task.b, head, query);
        lo[lane] = plane.intervals[static_cast<size_t>(row)].begin;
        hi[lane] = plane.intervals[static_cast<size_t>(row)].end;
      }
      plan_.config->tile[one.vectors - 1](tile);
    }
  }

  void FillEmptyRows(const Task& task) const {
    const PlanData& data = plan_.data;
    for (int64_t n = 0; n < data.params.heads; ++n) {
      const int64_t head = task.slot * data.params.heads + n;
      for (const Run& run : data.PlaneOf(task.b, task.slot).empty_rows) {
        for (int64_t query = run.begin; query < run.end; ++query) {
          if (args_.lse.given()) *At<float>(args_.lse, task.b, head, query) = -INFINITY;
          if (plan_.empty_rows == EmptyRows::kKeep) continue;
          float* out = At<float>(args_.out, task.b, head, query);
          std::fill_n(out, data.problem.v_dim, 0.0f);
        }
      }
    }
  }

  const Plan::Impl& plan_;
  const RunArgs& args_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> out_of_memory_{false};
};

/// Every row by the definition.
Status RunReference(const Plan::Impl& plan, const RunArgs& args) {
  const Problem& p = plan.data.problem;
  std::vector<float> row(static_cast<size_t>(p.v_dim));
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        float lse;
        Status status = plan.reference->ExactRow(args, b, h, i, row.data(), &lse);
        if (!status.ok()) return status;
        if (args.lse.given()) *At<float>(args.lse, b, h, i) = lse;
        if (lse == -INFINITY && plan.empty_rows == EmptyRows::kKeep) continue;
        std::copy(row.begin(), row.end(), At<float>(args.out, b, h, i));
      }
    }
  }
  return {};
}

}  // namespace

Status RunPlan(const Plan::Impl& plan, const RunArgs& args) {
  const int threads = args.threads > 0 ? args.threads : plan.threads;
  if (args.workspace != nullptr &&
      args.workspace_bytes < static_cast<size_t>(threads) * plan.worker_bytes) {
    return Status::InvalidArgument(
        "workspace_bytes is " + std::to_string(args.workspace_bytes) + ", expected at least " +
        std::to_string(static_cast<size_t>(threads) * plan.worker_bytes) + " for " +
        std::to_string(threads) + " threads");
  }
  if (plan.reference) return RunReference(plan, args);
  const size_t tasks = plan.data.tasks.size();
  if (tasks == 0) return {};
  Runner runner(plan, args);
  const size_t workers = std::min(tasks, static_cast<size_t>(threads));
  RunWorkers(static_cast<int>(workers), plan.parallel_for, &Runner::Work, &runner);
  if (runner.out_of_memory()) return Status(StatusCode::kOutOfMemory, "out of memory");
  return {};
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
