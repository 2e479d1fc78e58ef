// Counters of a plan; see PlanStats.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

int64_t CountBits(uint64_t word) { return __builtin_popcountll(word); }

/// Pairs of one segment of a tile.
int64_t LivePairs(const PlanData& plan, const Plane& plane, const Tile& tile,
                  const Segment& segment) {
  const int64_t keys = segment.end - segment.begin;
  int64_t pairs = 0;
  switch (segment.kind) {
    case SegmentKind::kFull:
      return keys * tile.lanes;
    case SegmentKind::kInterval:
      for (int64_t lane = tile.first_lane; lane < tile.first_lane + tile.lanes; ++lane) {
        const Run& row = plane.intervals[static_cast<size_t>(lane / plan.params.heads)];
        const int64_t begin = std::max(row.begin, segment.begin);
        const int64_t end = std::min(row.end, segment.end);
        pairs += std::max<int64_t>(end - begin, 0);
      }
      return pairs;
    case SegmentKind::kBits:
      for (int64_t n = 0; n < keys; ++n) {
        pairs += CountBits(plane.lane_bits[static_cast<size_t>(segment.bits + n)]);
      }
      return pairs;
  }
  return pairs;
}

/// Adds the blocks of one tile.
void CountBlocks(const PlanData& plan, const Plane& plane, const Tile& tile, PlanStats& stats) {
  const ChunkCounts counts = CountChunks(plane, tile);
  const int64_t all = ChunkOf(plan.problem.k_len - 1, tile.origin) - ChunkOf(0, tile.origin) + 1;
  stats.skipped_blocks += all - counts.touched;
  stats.full_blocks += counts.touched - counts.partial;
  stats.partial_blocks += counts.partial;
}

PlanStats CountPlane(const PlanData& plan, const Plane& plane) {
  PlanStats stats;
  for (const Tile& tile : plane.tiles) {
    for (int64_t s = 0; s < tile.segment_count; ++s) {
      stats.live_pairs +=
          LivePairs(plan, plane, tile, plane.segments[static_cast<size_t>(tile.first_segment + s)]);
    }
    CountBlocks(plan, plane, tile, stats);
  }
  stats.tiles = static_cast<int64_t>(plane.tiles.size());
  for (const Run& run : plane.empty_rows) {
    stats.empty_rows += (run.end - run.begin) * plan.params.heads;
  }
  return stats;
}

/// The cost of a plane's tiles, with what beginning and ending them costs.
double PlaneCost(const PlanData& plan, const Plane& plane) {
  const HeightCosts& heights = plan.params.heights;
  double cost = 0;
  for (const Tile& tile : plane.tiles) {
    cost += TileCost(plane, tile, plan.params) +
            static_cast<double>(heights.tile_keys) *
                static_cast<double>(heights.cost[tile.vectors - 1]);
  }
  return cost;
}

/// The same for a plane without a mask.
double DenseCost(const PlanData& plan) {
  const HeightCosts& heights = plan.params.heights;
  const int64_t lanes = plan.params.vector_lanes;
  const int64_t vectors = (plan.problem.q_len * plan.params.heads + lanes - 1) / lanes;
  const double keys = static_cast<double>(plan.problem.k_len);
  double cost = 0;
  const VectorKeys all = {{0, plan.problem.k_len}};
  const std::vector<VectorKeys> every(static_cast<size_t>(vectors), all);
  for (const int height : CoverVectors(every, heights)) {
    cost += (keys + static_cast<double>(heights.tile_keys)) *
            static_cast<double>(heights.cost[height - 1]);
  }
  return cost;
}

}  // namespace

double PredictedShare(const PlanData& plan) {
  const double dense = plan.problem.k_len > 0 ? DenseCost(plan) : 0;
  if (plan.planes.empty() || dense == 0) return 0;
  double cost = 0;
  for (const Plane& plane : plan.planes) cost += PlaneCost(plan, plane);
  return cost / (dense * static_cast<double>(plan.planes.size()));
}

PlanStats CountWork(const PlanData& plan) {
  const Problem& p = plan.problem;
  PlanStats total;
  total.dense_pairs = p.batch * p.heads * p.q_len * p.k_len;
  if (p.batch == 0) return total;
  const int64_t times = p.batch / plan.batch_planes * (plan.slots / plan.head_planes);
  for (const Plane& plane : plan.planes) {
    const PlanStats one = CountPlane(plan, plane);
    total.live_pairs += times * one.live_pairs;
    total.empty_rows += times * one.empty_rows;
    total.tiles += times * one.tiles;
    total.skipped_blocks += times * one.skipped_blocks;
    total.full_blocks += times * one.full_blocks;
    total.partial_blocks += times * one.partial_blocks;
  }
  return total;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
