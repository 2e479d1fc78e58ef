// What the planner's tests share: problems, a plain byte scan, and tiles read back into keys.
#ifndef SKIPATTN_TESTS_PLAN_DECODE_H_
#define SKIPATTN_TESTS_PLAN_DECODE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "plan/rows.h"
#include "plan/tiles.h"
#include "skipattn/plan.h"
#include "tests/random_array.h"

namespace skipattn::test {

inline Problem SizesOf(int64_t batch, int64_t heads, int64_t kv_heads, int64_t q_len,
                       int64_t k_len) {
  Problem problem;
  problem.batch = batch;
  problem.heads = heads;
  problem.kv_heads = kv_heads;
  problem.q_len = q_len;
  problem.k_len = k_len;
  problem.dim = problem.v_dim = 1;
  return problem;
}

/// Sizes up to `most` around all edges; half of them self-attention.
inline Problem RandomSizes(Rng& rng, int64_t most) {
  const int64_t kv_heads = Uniform(rng, 1, 2), group = Uniform(rng, 1, 3);
  const int64_t q_len = RandomSize(rng, 0, most), k_len = RandomSize(rng, 0, most);
  return SizesOf(Uniform(rng, 1, 3), kv_heads * group, kv_heads, q_len,
                 OneIn(rng, 2) ? q_len : k_len);
}

/// A ScanFunction.
inline void PlainScan(const uint8_t* bytes, int64_t count, uint64_t* words) {
  for (int64_t t = 0; t < count; ++t) {
    if (t % 64 == 0) words[t / 64] = 0;
    if (bytes[t] != 0) words[t / 64] |= uint64_t{1} << (t % 64);
  }
}

/// Remainder that is never negative.
inline int64_t FloorMod(int64_t a, int64_t n) { return ((a % n) + n) % n; }

/// The keys of a tile, one element a key.
struct DecodedTile {
  std::vector<std::vector<uint8_t>> attends;  // [lanes of the tile][keys]
  std::vector<uint8_t> read;                  // [keys]: in how many segments
};

inline DecodedTile Decode(const internal::Plane& plane, const internal::Tile& tile, int64_t heads,
                          int64_t keys) {
  DecodedTile decoded;
  decoded.read.resize(static_cast<size_t>(keys));
  decoded.attends.assign(static_cast<size_t>(tile.lanes), decoded.read);
  for (int64_t s = tile.first_segment; s < tile.first_segment + tile.segment_count; ++s) {
    const internal::Segment& segment = plane.segments.at(static_cast<size_t>(s));
    for (int64_t j = segment.begin; j < segment.end; ++j) {
      ++decoded.read.at(static_cast<size_t>(j));
      for (int64_t lane = 0; lane < tile.lanes; ++lane) {
        const size_t row = static_cast<size_t>((tile.first_lane + lane) / heads);
        bool attends = segment.kind == internal::SegmentKind::kFull;
        if (segment.kind == internal::SegmentKind::kInterval) {
          attends = plane.intervals.at(row).begin <= j && j < plane.intervals.at(row).end;
        } else if (segment.kind == internal::SegmentKind::kBits) {
          const int64_t word = segment.bits + j - segment.begin;
          attends = plane.lane_bits.at(static_cast<size_t>(word)) >> lane & 1;
        }
        if (attends) decoded.attends[static_cast<size_t>(lane)][static_cast<size_t>(j)] = 1;
      }
    }
  }
  return decoded;
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_PLAN_DECODE_H_
