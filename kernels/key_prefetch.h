// Fetches the keys and values that a tile of few rows will read soon.
#ifndef SKIPATTN_KERNELS_KEY_PREFETCH_H_
#define SKIPATTN_KERNELS_KEY_PREFETCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/chunk.h"
#include "kernels/tile.h"
#include "plan/segment.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Rows of v, and rows of another array to be fetched meanwhile.
template <class Rows>
struct AheadRows {
  Rows rows;
  const float* const* ahead;
  size_t last;    // rows ahead, less one
  size_t floats;  // of each
  const float* operator[](size_t n) const { return rows[n]; }
};

/// Few rows do little with each key, so a tile of them waits for memory. The hardware's prefetchers
/// stop at every page and know nothing of the other array: left to them, a third of the bandwidth
/// is reached. Here the v of a chunk is fetched (to L2) while its scores are computed, and the k of
/// the next chunk during the weighted sum; after the last chunk, that of the next tile. Measured as
/// well: to L1 is slower by a third; every second or fourth line alone, or all of it during the
/// scores, by 5 to 20 %, roughly (on a busy machine).
class KeyPrefetcher {
 public:
  KeyPrefetcher(const TileArgs& tile, size_t /*steps*/) : tile_(tile), reader_(tile) {
    next_.keys = next_.span_count = 0;  // the rest is large, and written before it is read
    const size_t before = tile.states == nullptr ? 0 : tile.chunk_begin;
    for (size_t n = 0; n <= before && reader_.Next(next_); ++n) {
    }
  }

  /// A chunk begins: as many calls of Step() as it has blocks of `block` keys follow, then the
  /// weighted sum over With(v).
  void Begin(size_t block) {
    block_ = block;
    v_at_ = 0;
    v_count_ = List(next_, tile_.v, tile_.v_stride, v_);
    if (reader_.Next(next_)) {
      k_count_ = List(next_, tile_.k, tile_.k_stride, k_);
    } else {
      k_count_ = ListNextTile();
    }
    if (k_count_ == 0) k_[k_count_++] = v_[0];  // nothing to fetch: what is there already
  }

  void Step() {
    const size_t end = std::min(v_at_ + block_, v_count_);
    for (; v_at_ < end; ++v_at_) Fetch(v_[v_at_], tile_.v_dim);
  }

  /// The chunk's rows of v, with those of the next chunk's k.
  template <class Rows>
  AheadRows<Rows> With(const Rows& v) const {
    return {v, k_, k_count_ - 1, tile_.dim};
  }

 private:
  static void Fetch(const float* row, size_t floats) {
    for (size_t n = 0; n < floats; n += kLineFloats) __builtin_prefetch(row + n, 0, 2);
  }

  /// Pointers to all rows of a chunk; returns how many.
  static size_t List(const Chunk& chunk, const float* base, ptrdiff_t stride, const float** rows) {
    for (size_t s = 0; s < chunk.span_count; ++s) {
      const ChunkSpan& span = chunk.spans[s];
      const float* first = base + span.key * stride;
      for (size_t n = span.begin; n < span.end; ++n) {  // no pointer is made beyond the last row
        rows[n] = first + static_cast<ptrdiff_t>(n - span.begin) * stride;
      }
    }
    return chunk.keys;
  }

  size_t ListNextTile() {
    const TileArgs* next = tile_.next;
    if (next == nullptr) return 0;
    for (size_t r = 0; r < next->rows; ++r) {
      Fetch(next->q[r], next->dim);
      Fetch(next->out[r], next->v_dim);
    }
    if (!tile_.next_keys || next->segment_count == 0) return 0;
    const Segment& first = next->segments[0];
    const size_t keys = static_cast<size_t>(std::min(first.end - first.begin, kChunk));
    const float* row = next->k + first.begin * next->k_stride;
    for (size_t n = 0; n < keys; ++n, row += next->k_stride) k_[n] = row;
    return keys;
  }

  static constexpr size_t kLineFloats = 16;

  const TileArgs& tile_;
  ChunkReader reader_;
  Chunk next_;  // the one after the chunk that has begun
  const float* v_[kChunk];
  const float* k_[kChunk];
  size_t block_ = 0, v_at_ = 0, v_count_ = 0, k_count_ = 0;
};

/// What a weighted sum takes along while it walks down the rows of v once for each group of
/// columns: the rows ahead, line by line in the order of memory, which the hardware then goes on
/// with. Other rows than AheadRows bring nothing.
template <class Rows>
class AheadWalk {
 public:
  AheadWalk(const Rows& /*v*/, size_t /*floats_before*/) {}
  void Step(size_t /*floats*/) {}
};

template <class Rows>
class AheadWalk<AheadRows<Rows>> {
 public:
  /// `floats_before` of v have been read already.
  AheadWalk(const AheadRows<Rows>& v, size_t floats_before)
      : v_(v), row_(std::min(floats_before / v.floats, v.last)), at_(floats_before % v.floats) {}

  /// `floats` more are read.
  inline __attribute__((always_inline)) void Step(size_t floats) {
    const uintptr_t from = reinterpret_cast<uintptr_t>(v_.ahead[row_]) + at_ * sizeof(float);
    for (size_t byte = 0; byte < floats * sizeof(float); byte += 64) {
      __builtin_prefetch(reinterpret_cast<const void*>(from + byte), 0, 2);
    }
    at_ += floats;
    if (at_ >= v_.floats) {
      at_ = 0;
      row_ += row_ < v_.last ? 1 : 0;
    }
  }

 private:
  const AheadRows<Rows> v_;
  size_t row_, at_;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_KEY_PREFETCH_H_
