// Planes to tasks: about equal costs, longest first, key ranges split where there are too few
// tiles.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "kernels/tile.h"
#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Tasks for each thread, about: with dynamic scheduling the slowest thread is late by one task at
// most, and a task should be large beside the nanoseconds that taking it costs.
constexpr double kTasksPerThread = 64;
constexpr double kLeastTasks = 512;

// A tile that is more than this share of a thread's work is split, into parts of half of it.
constexpr double kSplitShare = 0.25;

class Cutter {
 public:
  Cutter(int threads, PlanData& plan) : threads_(threads), plan_(plan) {
    for (const Plane& plane : plan.planes) {
      std::vector<double> cost;
      for (const Tile& tile : plane.tiles) cost.push_back(TileCost(plane, tile, plan.params));
      plane_cost_.push_back(std::accumulate(cost.begin(), cost.end(), 0.0));
      tile_cost_.push_back(std::move(cost));
    }
    const double times = static_cast<double>(plan.problem.batch * plan.slots) /
                         static_cast<double>(plan.planes.size());
    total_ = times * std::accumulate(plane_cost_.begin(), plane_cost_.end(), 0.0);
  }

  void Cut() {
    // Batch entries and slots by falling cost, and so the tasks of each; those of one slot stay
    // together, as they read the same k and v.
    std::vector<std::pair<int64_t, int64_t>> order;
    for (int64_t b = 0; b < plan_.problem.batch; ++b) {
      for (int64_t slot = 0; slot < plan_.slots; ++slot) order.emplace_back(b, slot);
    }
    std::stable_sort(order.begin(), order.end(), [&](const auto& x, const auto& y) {
      return plane_cost_[PlaneIndex(x)] > plane_cost_[PlaneIndex(y)];
    });
    for (const auto& [b, slot] : order) CutSlot(b, slot);
    // Empty rows last: short tasks even out the end, and tiles have tiles behind them to fetch for.
    for (const auto& place : order) {
      if (plan_.planes[PlaneIndex(place)].empty_rows.empty()) continue;
      plan_.tasks.push_back({place.first, place.second, 0, 0});
    }
  }

 private:
  size_t PlaneIndex(const std::pair<int64_t, int64_t>& place) const {
    return static_cast<size_t>(&plan_.PlaneOf(place.first, place.second) - plan_.planes.data());
  }

  void CutSlot(int64_t b, int64_t slot) {
    const size_t index = PlaneIndex({b, slot});
    const std::vector<double>& cost = tile_cost_[index];
    const int64_t tiles = static_cast<int64_t>(cost.size());
    const double grain = total_ / std::max(kLeastTasks, kTasksPerThread * threads_);
    const double share = total_ / threads_;
    const size_t begin = plan_.tasks.size();
    for (int64_t tile = 0; tile < tiles;) {
      Task task = {b, slot, tile, tile};
      while (task.tile_end < tiles && task.cost < grain) {
        task.cost += cost[static_cast<size_t>(task.tile_end++)];
      }
      tile = task.tile_end;
      if (threads_ > 1 && task.tile_end == task.tile_begin + 1 && task.cost > kSplitShare * share) {
        SplitTask(plan_.planes[index], task, kSplitShare / 2 * share);
      } else {
        plan_.tasks.push_back(task);
      }
    }
    std::stable_sort(plan_.tasks.begin() + static_cast<ptrdiff_t>(begin), plan_.tasks.end(),
                     [](const Task& x, const Task& y) { return x.cost > y.cost; });
  }

  /// One tile as parts of whole chunks that cost about `part_cost` each.
  void SplitTask(const Plane& plane, const Task& task, double part_cost) {
    const Tile& tile = plane.tiles[static_cast<size_t>(task.tile_begin)];
    const int64_t chunks = CountChunks(plane, tile).touched;
    const int64_t wanted = static_cast<int64_t>(std::ceil(task.cost / part_cost));
    const int64_t parts = std::min(chunks, wanted);
    if (parts < 2) {
      plan_.tasks.push_back(task);
      return;
    }
    for (int64_t part = 0; part < parts; ++part) {
      Task one = task;
      one.split = static_cast<int64_t>(plan_.splits.size());
      one.chunk_begin = chunks * part / parts;
      one.chunk_end = chunks * (part + 1) / parts;
      one.cost = task.cost * static_cast<double>(one.chunk_end - one.chunk_begin) /
                 static_cast<double>(chunks);
      plan_.tasks.push_back(one);
    }
    plan_.splits.push_back({parts, chunks, plan_.state_floats});
    const size_t lanes = static_cast<size_t>(plan_.params.vector_lanes);
    plan_.state_floats += static_cast<size_t>(chunks) *
                          ChunkStateFloats(static_cast<size_t>(StoredRows(tile, plan_.params)),
                                           lanes, static_cast<size_t>(plan_.problem.v_dim));
  }

  const int threads_;
  PlanData& plan_;
  std::vector<std::vector<double>> tile_cost_;  // [planes][tiles]
  std::vector<double> plane_cost_;
  double total_ = 0;
};

}  // namespace

void CutTasks(int threads, PlanData& plan) { Cutter(threads, plan).Cut(); }

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
