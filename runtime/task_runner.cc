// Tasks to kernel calls; see task_runner.h.
#include "runtime/task_runner.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <new>
#include <utility>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using Counter = std::atomic<int32_t>;

/// A view of f32 elements as a pointer that indices are added to.
template <typename Data, typename View>
Data* At(const View& view, int64_t b, int64_t h, int64_t t) {
  return static_cast<Data*>(view.data) + b * view.stride[0] + h * view.stride[1] +
         t * view.stride[2];
}

size_t CounterBytes(const PlanData& data) {
  return (data.splits.size() * sizeof(Counter) + 63) / 64 * 64;
}

}  // namespace

size_t SharedBytes(const PlanData& data) {
  return CounterBytes(data) + (data.state_floats * sizeof(float) + 63) / 64 * 64;
}

/// A tile as a kernel wants it, with what its pointers point at.
struct TaskRunner::Job {
  TileArgs args;
  const float* q[kMaxTileRows];
  float* out[kMaxTileRows];
  float* lse[kMaxTileRows];
  float sinks[kMaxTileRows];
  int64_t lo[kMaxTileRows], hi[kMaxTileRows];
};

TaskRunner::TaskRunner(const Plan::Impl& plan, const RunArgs& args, void* shared)
    : plan_(plan), args_(args) {
  const PlanData& data = plan.data;
  if (data.splits.empty()) return;
  parts_left_ = static_cast<Counter*>(shared);
  for (size_t n = 0; n < data.splits.size(); ++n) {
    new (parts_left_ + n) Counter(static_cast<int32_t>(data.splits[n].parts));
  }
  states_ = reinterpret_cast<float*>(static_cast<char*>(shared) + CounterBytes(data));
}

void TaskRunner::Run(const Task& task, const Task* next, float* scratch) const {
  if (task.tile_begin == task.tile_end) {
    FillEmptyRows(task, scratch);
    return;
  }
  const Plane& plane = plan_.data.PlaneOf(task.b, task.slot);
  Job jobs[2];
  Job *now = &jobs[0], *then = &jobs[1];
  Prepare(task, task.tile_begin, *now);
  for (int64_t t = task.tile_begin; t < task.tile_end; ++t) {
    now->args.scratch = scratch;
    if (t + 1 < task.tile_end) {
      Prepare(task, t + 1, *then);
      now->args.next = &then->args;
    } else if (next != nullptr && next->tile_begin < next->tile_end) {
      Prepare(*next, next->tile_begin, *then);
      now->args.next = &then->args;
      now->args.next_keys = then->args.k != now->args.k;
    }
    const Tile& tile = plane.tiles[static_cast<size_t>(t)];
    if (task.split >= 0) {
      RunPart(task, tile, now->args);
    } else {
      plan_.config->tile[tile.vectors - 1](now->args);
    }
    std::swap(now, then);
  }
}

void TaskRunner::Prepare(const Task& task, int64_t tile_index, Job& job) const {
  const PlanData& data = plan_.data;
  const Plane& plane = data.PlaneOf(task.b, task.slot);
  const Tile& tile = plane.tiles[static_cast<size_t>(tile_index)];
  const int64_t kv_head =
      task.slot * data.params.heads / (data.problem.heads / data.problem.kv_heads);
  TileArgs& args = job.args;
  args = {};
  args.rows = static_cast<size_t>(tile.lanes);
  args.q = job.q;
  args.out = job.out;
  args.lse = args_.lse.given() ? job.lse : nullptr;
  args.lo = job.lo;
  args.hi = job.hi;
  args.dim = static_cast<size_t>(data.problem.dim);
  args.v_dim = static_cast<size_t>(data.problem.v_dim);
  args.q_scale = plan_.q_scale;
  args.k = At<const float>(args_.k, task.b, kv_head, 0);
  args.v = At<const float>(args_.v, task.b, kv_head, 0);
  args.k_stride = args_.k.stride[2];
  args.v_stride = args_.v.stride[2];
  args.segments = plane.segments.data() + tile.first_segment;
  args.segment_count = static_cast<size_t>(tile.segment_count);
  args.lane_bits = plane.lane_bits.data();
  args.origin = tile.origin;
  args.empty_rows = plan_.empty_rows;
  args.k_len = data.problem.k_len;
  args.softcap = plan_.softcap;
  if (args_.sinks.given()) {
    std::fill(job.sinks + tile.lanes, job.sinks + kMaxTileRows, 0.0f);
    args.sinks = job.sinks;
  }
  // Lane by lane, the heads of one query row after the other; dividing for each lane would show.
  int64_t row = tile.first_lane / data.params.heads;
  int64_t head = tile.first_lane % data.params.heads;
  for (int32_t lane = 0; lane < tile.lanes; ++lane) {
    const int64_t query = plane.queries[static_cast<size_t>(row)];
    const int64_t q_head = task.slot * data.params.heads + head;
    job.q[lane] = At<const float>(args_.q, task.b, q_head, query);
    job.out[lane] = At<float>(args_.out, task.b, q_head, query);
    if (args.lse != nullptr) job.lse[lane] = At<float>(args_.lse, task.b, q_head, query);
    if (args.sinks != nullptr) job.sinks[lane] = Sink(q_head);
    job.lo[lane] = plane.intervals[static_cast<size_t>(row)].begin;
    job.hi[lane] = plane.intervals[static_cast<size_t>(row)].end;
    if (++head == data.params.heads) {
      head = 0;
      ++row;
    }
  }
}

void TaskRunner::RunPart(const Task& task, const Tile& tile, TileArgs& args) const {
  const Split& split = plan_.data.splits[static_cast<size_t>(task.split)];
  const TileFunction run = plan_.config->tile[tile.vectors - 1];
  args.states = states_ + split.states;
  args.chunk_begin = static_cast<size_t>(task.chunk_begin);
  args.chunk_end = static_cast<size_t>(task.chunk_end);
  run(args);
  // Whoever ends last has seen, by this counter, all that the others wrote.
  if (parts_left_[task.split].fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  args.chunk_end = static_cast<size_t>(split.chunks);
  if (plan_.fold(args, static_cast<size_t>(tile.vectors) * plan_.lanes)) {
    args.states = nullptr;
    run(args);
  }
}

void TaskRunner::FillEmptyRows(const Task& task, float* scratch) const {
  const PlanData& data = plan_.data;
  const bool plain = !args_.sinks.given() &&
                     (plan_.empty_rows == EmptyRows::kZero || plan_.empty_rows == EmptyRows::kKeep);
  const Runs& empty_rows = data.PlaneOf(task.b, task.slot).empty_rows;
  for (int64_t n = 0; n < data.params.heads; ++n) {
    const int64_t head = task.slot * data.params.heads + n;
    if (!plain) {
      FillLikeFirst(task.b, head, empty_rows, scratch);
      continue;
    }
    for (const internal::Run& run : empty_rows) {
      if (args_.lse.given()) FillLse(task.b, head, run, -INFINITY);
      if (plan_.empty_rows == EmptyRows::kZero) FillZero(task.b, head, run);
    }
  }
}

/// All rows of a head that have no key are the same: the first is computed, as a fold over no
/// chunks, and the others are copies.
void TaskRunner::FillLikeFirst(int64_t b, int64_t head, const Runs& rows, float* scratch) const {
  const Problem& p = plan_.data.problem;
  const int64_t first = rows.front().begin;
  float* out = At<float>(args_.out, b, head, first);
  float lse_value, sinks[kMaxTileRows] = {Sink(head)};
  float* lse = &lse_value;
  TileArgs args = {};
  args.rows = 1;
  args.out = &out;
  args.lse = &lse;
  args.v_dim = static_cast<size_t>(p.v_dim);
  args.v = At<const float>(args_.v, b, head / (p.heads / p.kv_heads), 0);
  args.v_stride = args_.v.stride[2];
  args.k_len = p.k_len;
  args.empty_rows = plan_.empty_rows;
  args.sinks = sinks;
  args.scratch = scratch;
  plan_.fold(args, plan_.lanes);
  const bool kept = lse_value == -INFINITY && plan_.empty_rows == EmptyRows::kKeep;
  for (const internal::Run& run : rows) {
    if (args_.lse.given()) FillLse(b, head, run, lse_value);
    for (int64_t query = run.begin; query < run.end && !kept; ++query) {
      if (query == first) continue;
      std::copy_n(out, p.v_dim, At<float>(args_.out, b, head, query));
    }
  }
}

float TaskRunner::Sink(int64_t head) const {
  if (!args_.sinks.given()) return -INFINITY;
  return static_cast<const float*>(args_.sinks.data)[head * args_.sinks.stride[0]];
}

void TaskRunner::FillLse(int64_t b, int64_t head, const internal::Run& run, float lse) const {
  for (int64_t query = run.begin; query < run.end; ++query) {
    *At<float>(args_.lse, b, head, query) = lse;
  }
}

void TaskRunner::FillZero(int64_t b, int64_t head, const internal::Run& run) const {
  const int64_t v_dim = plan_.data.problem.v_dim;
  if (args_.out.stride[2] == v_dim) {  // one block, which is faster
    plan_.zero(At<float>(args_.out, b, head, run.begin),
               static_cast<size_t>((run.end - run.begin) * v_dim));
    return;
  }
  for (int64_t query = run.begin; query < run.end; ++query) {
    plan_.zero(At<float>(args_.out, b, head, query), static_cast<size_t>(v_dim));
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
