// Runs a plan: workers take tasks from a shared counter.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <vector>

#include "runtime/float_env.h"
#include "runtime/parallel.h"
#include "runtime/plan_impl.h"
#include "runtime/scratch.h"
#include "runtime/task_runner.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

Status OutOfMemory() { return Status(StatusCode::kOutOfMemory, "out of memory"); }

/// What all workers of a run share.
struct Workers {
  const Plan::Impl& plan;
  const TaskRunner& runner;
  char* workspace;  // of the workers, or null
  size_t reserve;   // so many tasks at the end are taken one by one
  std::atomic<size_t> next_task{0};

  /// For RunWorkers.
  static void Work(void* workers, int worker) { static_cast<Workers*>(workers)->TakeTasks(worker); }

  void TakeTasks(int worker) {
    void* scratch = workspace == nullptr
                        ? ThreadScratch(plan.worker_bytes)
                        : workspace + static_cast<size_t>(worker) * plan.worker_bytes;
    if (scratch == nullptr) return;  // its tasks are left to the others
    const ScopedFloatEnv env;
    for (const Task *task = Take(), *next = nullptr; task != nullptr;
         task = next != nullptr ? next : Take()) {
      // One task ahead while there are plenty, so that its operands can be fetched; towards the end
      // a thread must not keep a task that another one could run.
      const size_t taken = next_task.load(std::memory_order_relaxed);
      next = taken + reserve < plan.data.tasks.size() ? Take() : nullptr;
      runner.Run(*task, next, static_cast<float*>(scratch));
    }
  }

  /// The next task that nobody has, or null.
  const Task* Take() {
    const size_t n = next_task.fetch_add(1, std::memory_order_relaxed);
    return n < plan.data.tasks.size() ? &plan.data.tasks[n] : nullptr;
  }
};

Status RunReferenceState(const Plan::Impl& plan, const RunArgs& args, int64_t b, int64_t h,
                         int64_t i) {
  const auto at = [&](const Tensor& view) {
    return static_cast<float*>(view.data) + b * view.stride[0] + h * view.stride[1] +
           i * view.stride[2];
  };
  const Carry& carry = args.carry_out;
  return plan.reference->ExactState(args, b, h, i, at(carry.max), at(carry.sum), at(carry.out));
}

/// Every row by the definition.
Status RunReference(const Plan::Impl& plan, const RunArgs& args) {
  const Problem& p = plan.data.problem;
  const auto* stride = args.out.stride;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        if (args.carry_out.given()) {
          Status status = RunReferenceState(plan, args, b, h, i);
          if (!status.ok()) return status;
          continue;
        }
        float lse;
        float* out =
            static_cast<float*>(args.out.data) + b * stride[0] + h * stride[1] + i * stride[2];
        Status status = plan.reference->ExactRow(args, b, h, i, out, &lse);
        if (!status.ok()) return status;
        if (args.lse.given()) {
          const int64_t* step = args.lse.stride;
          static_cast<float*>(args.lse.data)[b * step[0] + h * step[1] + i * step[2]] = lse;
        }
      }
    }
  }
  return {};
}

Status CheckWorkspace(const Plan::Impl& plan, const RunArgs& args, int threads) {
  const size_t least = plan.shared_bytes + static_cast<size_t>(threads) * plan.worker_bytes;
  if (args.workspace == nullptr || args.workspace_bytes >= least) return {};
  return Status::InvalidArgument("workspace_bytes is " + std::to_string(args.workspace_bytes) +
                                 ", expected at least " + std::to_string(least) + " for " +
                                 std::to_string(threads) + " threads");
}

}  // namespace

Status RunPlan(const Plan::Impl& plan, const RunArgs& args) {
  const int threads = args.threads > 0 ? args.threads : plan.threads;
  if (Status status = CheckWorkspace(plan, args, threads); !status.ok()) return status;
  if (plan.empty_rows == EmptyRows::kUniform && args.carry_in.given()) {
    return Status::InvalidArgument(
        "carry_in is given, expected none with empty_rows = uniform, which needs all keys at once");
  }
  if (plan.reference) {
    try {
      return RunReference(plan, args);
    } catch (const std::bad_alloc&) {
      return OutOfMemory();
    }
  }
  const size_t tasks = plan.data.tasks.size();
  if (tasks == 0) return {};

  const RunScratch kept(args.workspace == nullptr ? plan.shared_bytes : 0);
  void* shared = args.workspace == nullptr ? kept.data() : args.workspace;
  if (shared == nullptr && plan.shared_bytes > 0) return OutOfMemory();
  const TaskRunner runner(plan, args, shared);
  char* workspace = static_cast<char*>(args.workspace);
  if (workspace != nullptr) workspace += plan.shared_bytes;
  const size_t count = std::min(tasks, static_cast<size_t>(threads));
  Workers workers = {plan, runner, workspace, count > 1 ? 4 * count : 0};
  RunWorkers(static_cast<int>(count), plan.parallel_for, &Workers::Work, &workers);
  return workers.next_task < tasks ? OutOfMemory() : Status();
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
