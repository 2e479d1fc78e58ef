// Fetches what the next tile will read, a little at a time while this one computes.
#ifndef SKIPATTN_KERNELS_PREFETCH_H_
#define SKIPATTN_KERNELS_PREFETCH_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/tile.h"
#include "plan/segment.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Rows of q, and of the first chunk's k and v, and of out, of the next tile, in the order they
/// will be needed. Short sequences spend a quarter of their time waiting for these (each a stream
/// too short for the hardware's own prefetch). Fetched all at once before the tile they only wait
/// for each other; spread over its score blocks they cost next to nothing.
class Prefetcher {
 public:
  /// `steps`: calls of Step() that this tile will make, about.
  Prefetcher(const TileArgs& tile, size_t steps) : next_(tile.next) {
    if (next_ == nullptr) return;
    if (tile.next_keys && next_->segment_count > 0) {
      key_ = next_->segments[0].begin;
      keys_ = static_cast<size_t>(std::min(next_->segments[0].end - key_, kChunk));
    }
    const size_t rows = 2 * next_->rows + 2 * keys_;
    rows_a_step_ = rows / std::max<size_t>(steps, 1) + 1;
  }

  /// A chunk begins; nothing changes with it, nor with the rows of its sum.
  void Begin(size_t /*block*/) {}
  template <class Rows>
  Rows With(const Rows& v) const {
    return v;
  }

  void Step() {
    if (next_ == nullptr) return;
    for (size_t n = 0; n < rows_a_step_ && next_ != nullptr; ++n) FetchRow();
  }

 private:
  static constexpr size_t kLineFloats = 16;

  static void Fetch(const float* row, size_t floats) {
    for (size_t n = 0; n < floats; n += kLineFloats) __builtin_prefetch(row + n, 0, 2);
  }

  void FetchRow() {
    const size_t q_rows = next_->rows;
    size_t at = row_++;
    if (at < q_rows) return Fetch(next_->q[at], next_->dim);
    at -= q_rows;
    if (at < keys_) return Fetch(Row(next_->k, next_->k_stride, at), next_->dim);
    at -= keys_;
    if (at < keys_) return Fetch(Row(next_->v, next_->v_stride, at), next_->v_dim);
    at -= keys_;
    if (at < q_rows) return Fetch(next_->out[at], next_->v_dim);
    next_ = nullptr;
  }

  const float* Row(const float* base, ptrdiff_t stride, size_t n) const {
    return base + (key_ + static_cast<int64_t>(n)) * stride;
  }

  const TileArgs* next_;
  int64_t key_ = 0;
  size_t keys_ = 0, row_ = 0, rows_a_step_ = 0;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_KERNELS_PREFETCH_H_
