// Tiles whose rows differ by more than an interval: a word of lane bits for each partly masked key.
#ifndef SKIPATTN_PLAN_TILE_BITS_H_
#define SKIPATTN_PLAN_TILE_BITS_H_

#include <cstdint>

#include "plan/rows.h"
#include "plan/tiles.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Adds segments and lane bits of a tile of the rows [first, last). With skipping off, every key
/// of [0, keys) is in a segment.
void AddBitsTile(const PlaneRows& rows, const LiveRow* first, const LiveRow* last, const Tile& tile,
                 const TileParams& params, int64_t keys, Plane& plane);

/// The same for rows without bits and with few runs: costs their number, whatever their length. The
/// tile's skipping is on.
void AddRunsTile(const PlaneRows& rows, const LiveRow* first, const LiveRow* last, const Tile& tile,
                 const TileParams& params, Plane& plane);

/// Whether AddRunsTile can do the tile, and faster than AddBitsTile.
bool HasFewRuns(const PlaneRows& rows, const LiveRow* first, const LiveRow* last);

/// Transposes a 64 x 64 bit matrix in place: bit c of word r becomes bit r of word c.
void TransposeBits(uint64_t words[64]);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_TILE_BITS_H_
