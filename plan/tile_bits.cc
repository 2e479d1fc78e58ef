// Lane bits of irregular tiles; see tile_bits.h.
#include "plan/tile_bits.h"

#include <algorithm>
#include <vector>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// The allowed keys of one row, word by word.
class RowWords {
 public:
  RowWords(const PlaneRows& plane, const LiveRow& row)
      : row_(row), set_(plane.sets[static_cast<size_t>(row.set)]), run_(FirstAfter(set_, row.lo)) {
    if (row.bits >= 0) bits_ = plane.bits->Row(row.bits).words;
  }

  /// Must be called with ascending w.
  uint64_t At(int64_t w) {
    const uint64_t interval = RangeWord(row_.lo, row_.hi, w);
    if (interval == 0) return 0;
    while (run_ != set_.end() && run_->end <= w * 64) ++run_;
    uint64_t set = 0;
    for (auto run = run_; run != set_.end() && run->begin < (w + 1) * 64; ++run) {
      set |= RangeWord(run->begin, run->end, w);
    }
    return interval & set & (bits_ == nullptr ? ~uint64_t{0} : bits_[w]);
  }

 private:
  const LiveRow& row_;
  const Runs& set_;
  Runs::const_iterator run_;
  const uint64_t* bits_ = nullptr;
};

/// Adds the runs of set bits of `word` as segments, each joined to the one before where that is
/// full and touches.
void AddFullRuns(uint64_t word, int64_t key, size_t first_segment, Plane& plane) {
  for (const Run& run : RunsOf({&word, 64})) {
    std::vector<Segment>& segments = plane.segments;
    if (segments.size() > first_segment && segments.back().kind == SegmentKind::kFull &&
        segments.back().end == key + run.begin) {
      segments.back().end = key + run.end;
    } else {
      segments.push_back({key + run.begin, key + run.end, SegmentKind::kFull, 0});
    }
  }
}

void AddBitRuns(uint64_t word, int64_t key, const uint64_t lanes_of_key[64], Plane& plane) {
  for (const Run& run : RunsOf({&word, 64})) {
    plane.segments.push_back({key + run.begin, key + run.end, SegmentKind::kBits,
                              static_cast<int64_t>(plane.lane_bits.size())});
    plane.lane_bits.insert(plane.lane_bits.end(), lanes_of_key + run.begin, lanes_of_key + run.end);
  }
}

}  // namespace

void AddBitsTile(const PlaneRows& rows, const LiveRow* first, const LiveRow* last, const Tile& tile,
                 const TileParams& params, int64_t keys, Plane& plane) {
  const size_t first_segment = plane.segments.size();
  const bool skip = params.skipping == Skipping::kOn;
  int64_t lo = first->lo, hi = first->hi;
  std::vector<RowWords> words;
  for (const LiveRow* row = first; row != last; ++row) {
    lo = std::min(lo, row->lo);
    hi = std::max(hi, row->hi);
    words.emplace_back(rows, *row);
  }
  if (!skip) {
    lo = 0;
    hi = keys;
  }
  const int64_t first_row = first - rows.rows.data();
  for (int64_t w = lo / 64; w * 64 < hi; ++w) {
    uint64_t any = 0, all = ~uint64_t{0};
    uint64_t of_row[kMaxTileRows];
    for (size_t r = 0; r < words.size(); ++r) {
      of_row[r] = words[r].At(w);
      any |= of_row[r];
      all &= of_row[r];
    }
    if (!skip) any = RangeWord(0, keys, w);
    if (any == 0) continue;
    if (any == all) {
      AddFullRuns(any, w * 64, first_segment, plane);
      continue;
    }
    uint64_t lanes[64] = {};
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      lanes[lane] = of_row[(tile.first_lane + lane) / params.heads - first_row];
    }
    TransposeBits(lanes);
    AddBitRuns(any, w * 64, lanes, plane);
  }
}

void TransposeBits(uint64_t words[64]) {
  // Swaps ever smaller off-diagonal blocks (Warren, Hacker's Delight, section 7-3).
  uint64_t low = 0x00000000ffffffffu;
  for (int width = 32; width > 0; width >>= 1, low ^= low << width) {
    for (int r = 0; r < 64; r = ((r | width) + 1) & ~width) {
      const uint64_t swap = ((words[r] >> width) ^ words[r | width]) & low;
      words[r] ^= swap << width;
      words[r | width] ^= swap;
    }
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
