// Computes one task of a plan: tiles of the plan become pointers into the caller's tensors.
#ifndef SKIPATTN_RUNTIME_TASK_RUNNER_H_
#define SKIPATTN_RUNTIME_TASK_RUNNER_H_

#include <atomic>
#include <cstdint>

#include "kernels/tile.h"
#include "plan/plan_data.h"
#include "runtime/plan_impl.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The tasks of one run. May be used from several threads at once, each task once.
class TaskRunner {
 public:
  /// `shared`: SharedBytes() bytes for this run alone, aligned to 64; null if that is 0.
  TaskRunner(const Plan::Impl& plan, const RunArgs& args, void* shared);

  /// `scratch`: worker_bytes of the calling thread, aligned to 64. `next`: the task that it will
  /// run after this one, if it knows; its first operands are fetched in the meantime.
  void Run(const Task& task, const Task* next, float* scratch) const;

 private:
  struct Job;

  void Prepare(const Task& task, int64_t tile, Job& job) const;
  void RunPart(const Task& task, const Tile& tile, TileArgs& args) const;
  void FillEmptyRows(const Task& task, float* scratch) const;
  void FillLikeFirst(int64_t b, int64_t head, const Runs& rows, float* scratch) const;
  void PassOn(int64_t b, int64_t head, const Runs& rows, float* scratch) const;
  void AddRow(int64_t b, int64_t head, int64_t query, int64_t lane, Job& job) const;
  void AddBiasRow(int64_t b, int64_t head, int64_t query, int64_t lane, Job& job) const;
  void FillLse(int64_t b, int64_t head, const internal::Run& run, float lse) const;
  void FillZero(int64_t b, int64_t head, const internal::Run& run) const;

  float Sink(int64_t head) const;

  const Plan::Impl& plan_;
  const RunArgs& args_;
  std::atomic<int32_t>* parts_left_ = nullptr;  // of each split
  float* states_ = nullptr;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_TASK_RUNNER_H_
