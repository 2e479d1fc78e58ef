// What a plan tells a kernel about the keys of a tile.
#ifndef SKIPATTN_PLAN_SEGMENT_H_
#define SKIPATTN_PLAN_SEGMENT_H_

#include <cstdint>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Keys of one chunk share a value of floor((key - origin) / kChunk); part of the arithmetic.
inline constexpr int64_t kChunk = 128;

/// Rows of a tile, at most: one bit each in a word of lane bits.
inline constexpr int kMaxTileRows = 64;

enum class SegmentKind : uint8_t {
  kFull,      // every row attends every key
  kInterval,  // row r attends the keys of [lo[r], hi[r])
  kBits,      // row r attends key begin + n where bit r of lane word n is set
};

/// A run of keys [begin, end) that at least one row of the tile attends. A tile has a list of
/// them, in ascending order and without overlap; keys between them do not exist for it.
struct Segment {
  int64_t begin, end;
  SegmentKind kind;
  int64_t bits;  // kBits: index of the lane word of key `begin`
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_SEGMENT_H_
