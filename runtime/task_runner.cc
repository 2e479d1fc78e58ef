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

/// Elements from one index of an axis to the next; axes of one element broadcast.
int64_t BiasStride(const ConstTensor& bias, int axis) {
  return bias.shape[axis] == 1 ? 0 : bias.stride[axis];
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
  BiasRows bias;
  const float* bias_rows[kMaxTileRows];
  float slopes[kMaxTileRows];
  int64_t positions[kMaxTileRows];
  StateRows<const float> carry_in;
  const float *max_in[kMaxTileRows], *sum_in[kMaxTileRows], *out_in[kMaxTileRows];
  StateRows<float> carry_out;
  float *max_out[kMaxTileRows], *sum_out[kMaxTileRows];

  /// Arguments that point here, of a plan and a run; rows are yet to be added.
  void Begin(const Plan::Impl& plan, const RunArgs& run);
};

void TaskRunner::Job::Begin(const Plan::Impl& plan, const RunArgs& run) {
  const Problem& problem = plan.data.problem;
  args = {};
  args.q = q;
  args.out = out;
  args.lse = run.lse.given() ? lse : nullptr;
  args.lo = lo;
  args.hi = hi;
  args.dim = static_cast<size_t>(problem.dim);
  args.v_dim = static_cast<size_t>(problem.v_dim);
  args.q_scale = plan.q_scale;
  args.k_stride = run.k.stride[2];
  args.v_stride = run.v.stride[2];
  args.lane_bits = nullptr;
  args.empty_rows = plan.empty_rows;
  args.k_len = problem.k_len;
  args.softcap = plan.softcap;
  if (run.sinks.given()) {
    std::fill_n(sinks, kMaxTileRows, 0.0f);
    args.sinks = sinks;
  }
  const bool dense = plan.bias.kind == BiasKind::kDense;
  if (dense ? run.bias.data != ZeroBias().data : plan.bias.kind != BiasKind::kNone) {
    const bool slope = plan.bias.kind == BiasKind::kAlibi;
    if (slope) std::fill_n(slopes, kMaxTileRows, 0.0f);
    bias = {bias_rows, BiasStride(run.bias, 3), plan.bias.table_size, slope ? slopes : nullptr,
            positions};
    args.bias = &bias;
  }
  if (run.carry_in.given()) {
    carry_in = {max_in, sum_in, out_in};
    args.carry_in = &carry_in;
  }
  if (run.carry_out.given()) {
    carry_out = {max_out, sum_out, out};
    args.carry_out = &carry_out;
  }
}

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
      plan_.KernelOf(tile)(now->args);
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
  job.Begin(plan_, args_);
  TileArgs& args = job.args;
  args.rows = static_cast<size_t>(tile.lanes);
  args.k = At<const float>(args_.k, task.b, kv_head, 0);
  args.v = At<const float>(args_.v, task.b, kv_head, 0);
  args.segments = plane.segments.data() + tile.first_segment;
  args.segment_count = static_cast<size_t>(tile.segment_count);
  args.lane_bits = plane.lane_bits.data();
  args.origin = tile.origin;
  // Lane by lane, the heads of one query row after the other; dividing for each lane would show.
  const bool plain = args.sinks == nullptr && args.carry_in == nullptr && args.carry_out == nullptr;
  int64_t row = tile.first_lane / data.params.heads;
  int64_t head = tile.first_lane % data.params.heads;
  for (int32_t lane = 0; lane < tile.lanes; ++lane) {
    const int64_t query = plane.queries[static_cast<size_t>(row)];
    const int64_t q_head = task.slot * data.params.heads + head;
    job.q[lane] = At<const float>(args_.q, task.b, q_head, query);
    job.lo[lane] = plane.intervals[static_cast<size_t>(row)].begin;
    job.hi[lane] = plane.intervals[static_cast<size_t>(row)].end;
    if (plain) {
      job.out[lane] = At<float>(args_.out, task.b, q_head, query);
      if (args.lse != nullptr) job.lse[lane] = At<float>(args_.lse, task.b, q_head, query);
    } else {
      AddRow(task.b, q_head, query, lane, job);
    }
    if (args.bias != nullptr) AddBiasRow(task.b, q_head, query, lane, job);
    if (++head == data.params.heads) {
      head = 0;
      ++row;
    }
  }
}

/// What a row has whether it has keys or not.
void TaskRunner::AddRow(int64_t b, int64_t head, int64_t query, int64_t lane, Job& job) const {
  const TileArgs& args = job.args;
  if (args.carry_in != nullptr) {
    job.max_in[lane] = At<const float>(args_.carry_in.max, b, head, query);
    job.sum_in[lane] = At<const float>(args_.carry_in.sum, b, head, query);
    job.out_in[lane] = At<const float>(args_.carry_in.out, b, head, query);
  }
  if (args.carry_out != nullptr) {
    job.max_out[lane] = At<float>(args_.carry_out.max, b, head, query);
    job.sum_out[lane] = At<float>(args_.carry_out.sum, b, head, query);
    job.out[lane] = At<float>(args_.carry_out.out, b, head, query);
    return;
  }
  job.out[lane] = At<float>(args_.out, b, head, query);
  if (args.lse != nullptr) job.lse[lane] = At<float>(args_.lse, b, head, query);
  if (args.sinks != nullptr) job.sinks[lane] = Sink(head);
}

void TaskRunner::AddBiasRow(int64_t b, int64_t head, int64_t query, int64_t lane, Job& job) const {
  const BiasValues& bias = plan_.bias;
  if (bias.kind == BiasKind::kDense) {
    job.bias_rows[lane] = static_cast<const float*>(args_.bias.data) +
                          b * BiasStride(args_.bias, 0) + head * BiasStride(args_.bias, 1) +
                          query * BiasStride(args_.bias, 2);
    return;
  }
  job.positions[lane] = query + bias.offset[static_cast<size_t>(b)];
  if (bias.kind == BiasKind::kAlibi) {
    job.slopes[lane] = bias.values[static_cast<size_t>(head)];
  } else {
    job.bias_rows[lane] = bias.TableOf(head);
  }
}

void TaskRunner::RunPart(const Task& task, const Tile& tile, TileArgs& args) const {
  const Split& split = plan_.data.splits[static_cast<size_t>(task.split)];
  const TileFunction run = plan_.KernelOf(tile);
  args.states = states_ + split.states;
  args.chunk_begin = static_cast<size_t>(task.chunk_begin);
  args.chunk_end = static_cast<size_t>(task.chunk_end);
  run(args);
  // Whoever ends last has seen, by this counter, all that the others wrote.
  if (parts_left_[task.split].fetch_sub(1, std::memory_order_acq_rel) > 1) return;
  args.chunk_end = static_cast<size_t>(split.chunks);
  if (plan_.fold(args, static_cast<size_t>(StoredRows(tile, plan_.data.params)))) {
    args.states = nullptr;
    run(args);
  }
}

void TaskRunner::FillEmptyRows(const Task& task, float* scratch) const {
  const PlanData& data = plan_.data;
  const bool carried = args_.carry_in.given() || args_.carry_out.given();
  const bool plain = !args_.sinks.given() &&
                     (plan_.empty_rows == EmptyRows::kZero || plan_.empty_rows == EmptyRows::kKeep);
  const Runs& empty_rows = data.PlaneOf(task.b, task.slot).empty_rows;
  for (int64_t n = 0; n < data.params.heads; ++n) {
    const int64_t head = task.slot * data.params.heads + n;
    if (carried) {
      PassOn(task.b, head, empty_rows, scratch);
      continue;
    }
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
  float lse = -INFINITY;
  Job job;
  job.Begin(plan_, args_);
  AddRow(b, head, first, 0, job);
  job.lse[0] = &lse;
  job.args.lse = job.lse;
  job.args.rows = 1;
  job.args.v = At<const float>(args_.v, b, head / (p.heads / p.kv_heads), 0);
  job.args.scratch = scratch;
  plan_.fold(job.args, plan_.lanes);
  const bool kept = lse == -INFINITY && plan_.empty_rows == EmptyRows::kKeep;
  for (const internal::Run& run : rows) {
    if (args_.lse.given()) FillLse(b, head, run, lse);
    for (int64_t query = run.begin; query < run.end && !kept; ++query) {
      if (query == first) continue;
      std::copy_n(job.out[0], p.v_dim, At<float>(args_.out, b, head, query));
    }
  }
}

/// Rows that have no key in this run may have had some in earlier ones: their state goes on as it
/// is, or ends.
void TaskRunner::PassOn(int64_t b, int64_t head, const Runs& rows, float* scratch) const {
  Job job;
  job.Begin(plan_, args_);
  job.args.scratch = scratch;
  for (const internal::Run& run : rows) {
    for (int64_t query = run.begin; query < run.end;) {
      size_t lane = 0;
      for (; lane < plan_.lanes && query < run.end; ++lane, ++query) {
        AddRow(b, head, query, static_cast<int64_t>(lane), job);
      }
      job.args.rows = lane;
      plan_.fold(job.args, plan_.lanes);
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
