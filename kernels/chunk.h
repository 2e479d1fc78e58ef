// Cuts a tile's segments at the chunk grid: which keys the next chunk has, and where they are.
#ifndef SKIPATTN_KERNELS_CHUNK_H_
#define SKIPATTN_KERNELS_CHUNK_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/tile.h"
#include "plan/segment.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Listed keys [begin, end) of a chunk: consecutive keys from `key` on, under one kind of mask.
struct ChunkSpan {
  size_t begin, end;
  int64_t key;
  SegmentKind kind;
  const uint64_t* bits;  // kBits: the lane word of `key`
};

/// The keys of one chunk that any row of the tile attends, in ascending order.
struct Chunk {
  size_t keys;
  size_t span_count;
  bool contiguous;  // the keys follow each other: k_rows and v_rows are not filled
  ChunkSpan spans[kChunk];
  const float* k_rows[kChunk];
  const float* v_rows[kChunk];
};

/// Reads a tile's segments chunk by chunk.
class ChunkReader {
 public:
  explicit ChunkReader(const TileArgs& tile) : tile_(tile) {
    if (tile.segment_count > 0) key_ = tile.segments[0].begin;
  }

  /// The next chunk that has keys; false at the end.
  bool Next(Chunk& chunk) {
    if (segment_ == tile_.segment_count) return false;
    const int64_t past_origin = key_ - tile_.origin;
    const int64_t into = ((past_origin % kChunk) + kChunk) % kChunk;
    const int64_t chunk_end = key_ - into + kChunk;
    chunk.keys = chunk.span_count = 0;
    chunk.contiguous = true;
    while (segment_ < tile_.segment_count && key_ < chunk_end) Append(chunk, chunk_end);
    if (!chunk.contiguous) FillRows(chunk);
    return true;
  }

 private:
  void Append(Chunk& chunk, int64_t chunk_end) {
    const Segment& segment = tile_.segments[segment_];
    const int64_t end = std::min(segment.end, chunk_end);
    const size_t count = static_cast<size_t>(end - key_);
    if (chunk.span_count > 0) {
      const ChunkSpan& last = chunk.spans[chunk.span_count - 1];
      if (last.key + static_cast<int64_t>(last.end - last.begin) != key_) chunk.contiguous = false;
    }
    const uint64_t* bits = segment.kind == SegmentKind::kBits
                               ? tile_.lane_bits + segment.bits + (key_ - segment.begin)
                               : nullptr;
    chunk.spans[chunk.span_count++] = {chunk.keys, chunk.keys + count, key_, segment.kind, bits};
    chunk.keys += count;
    key_ = end;
    if (key_ == segment.end && ++segment_ < tile_.segment_count) {
      key_ = tile_.segments[segment_].begin;
    }
  }

  void FillRows(Chunk& chunk) const {
    for (size_t s = 0; s < chunk.span_count; ++s) {
      const ChunkSpan& span = chunk.spans[s];
      const float* k = tile_.k + span.key * tile_.k_stride;
      const float* v = tile_.v + span.key * tile_.v_stride;
      for (size_t n = span.begin; n < span.end; ++n) {
        chunk.k_rows[n] = k;
        chunk.v_rows[n] = v;
        k += tile_.k_stride;
        v += tile_.v_stride;
      }
    }
  }

  const TileArgs& tile_;
  size_t segment_ = 0;
  int64_t key_ = 0;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_CHUNK_H_
