// Rows to tiles: live query rows packed into vectors, each tile with its key segments.
#ifndef SKIPATTN_PLAN_TILES_H_
#define SKIPATTN_PLAN_TILES_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/cover.h"
#include "plan/rows.h"
#include "plan/runs.h"
#include "plan/segment.h"
#include "skipattn/options.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Lanes [first_lane, first_lane + lanes) of a plane, computed by one kernel call.
///
/// Lane l of a plane is query row l / heads of the plane's rows, for head l % heads of those that
/// are packed together.
struct Tile {
  int64_t first_lane;
  int32_t lanes;
  int32_t vectors;  // height: lanes <= vectors * lanes of a vector
  int64_t first_segment;
  int64_t segment_count;
  int64_t origin;    // of the chunk grid, 0 to 127
  int32_t few = -1;  // which of HeightCosts::few computes it; -1: none of them
};

/// A compiled (batch, head) plane.
struct Plane {
  std::vector<int64_t> queries;  // of each live row
  std::vector<Run> intervals;    // of each live row: bounds of its keys
  std::vector<Tile> tiles;
  std::vector<Segment> segments;  // tile by tile
  std::vector<uint64_t> lane_bits;
  Runs empty_rows;
};

struct TileParams {
  int64_t vector_lanes = 1;
  HeightCosts heights;
  int64_t heads = 1;  // packed side by side
  Skipping skipping = Skipping::kOn;
};

/// Tiles of one plane of `keys` keys.
Plane BuildTiles(const PlaneRows& rows, int64_t keys, const TileParams& params);

/// Rows that a tile is stored as, in a kernel's scratch and states: at least its lanes.
int64_t StoredRows(const Tile& tile, const TileParams& params);

/// How a tile's keys lie on its chunk grid.
struct ChunkCounts {
  int64_t touched = 0;  // chunks that have keys
  int64_t partial = 0;  // those where some segment is not full
};
ChunkCounts CountChunks(const Plane& plane, const Tile& tile);

/// The number of key `key`'s chunk: floor((key - origin) / kChunk).
int64_t ChunkOf(int64_t key, int64_t origin);

/// Relative cost of a tile: keys times the cost of its height.
double TileCost(const Plane& plane, const Tile& tile, const TileParams& params);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_TILES_H_
