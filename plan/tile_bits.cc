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

/// Adds [begin, end) as a full segment, joined to the one before where that is full and touches.
void AddFull(int64_t begin, int64_t end, size_t first_segment, Plane& plane) {
  std::vector<Segment>& segments = plane.segments;
  if (segments.size() > first_segment && segments.back().kind == SegmentKind::kFull &&
      segments.back().end == begin) {
    segments.back().end = end;
  } else {
    segments.push_back({begin, end, SegmentKind::kFull, 0});
  }
}

/// The place for the lane words of the keys [begin, end): a segment of bits, joined to the one
/// before where that has bits too and touches.
uint64_t* AddBits(int64_t begin, int64_t end, size_t first_segment, Plane& plane) {
  const size_t words = plane.lane_bits.size();
  std::vector<Segment>& segments = plane.segments;
  if (segments.size() > first_segment && segments.back().kind == SegmentKind::kBits &&
      segments.back().end == begin) {
    segments.back().end = end;
  } else {
    segments.push_back({begin, end, SegmentKind::kBits, static_cast<int64_t>(words)});
  }
  plane.lane_bits.resize(words + static_cast<size_t>(end - begin));
  return plane.lane_bits.data() + words;
}

/// One bit for each lane of a row.
uint64_t LanesOf(const PlaneRows& rows, const LiveRow* row, const Tile& tile, int64_t heads) {
  const int64_t first = (row - rows.rows.data()) * heads - tile.first_lane;
  return RangeWord(first, std::min<int64_t>(first + heads, tile.lanes), 0);
}

/// The row begins or ends to attend keys at `key`.
struct Change {
  int64_t key;
  uint64_t lanes;
};

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
      for (const Run& run : RunsOf({&any, 64})) {
        AddFull(w * 64 + run.begin, w * 64 + run.end, first_segment, plane);
      }
      continue;
    }
    uint64_t lanes[64] = {};
    for (int64_t lane = 0; lane < tile.lanes; ++lane) {
      lanes[lane] = of_row[(tile.first_lane + lane) / params.heads - first_row];
    }
    TransposeBits(lanes);
    for (const Run& run : RunsOf({&any, 64})) {
      uint64_t* to = AddBits(w * 64 + run.begin, w * 64 + run.end, first_segment, plane);
      std::copy(lanes + run.begin, lanes + run.end, to);
    }
  }
}

bool HasFewRuns(const PlaneRows& rows, const LiveRow* first, const LiveRow* last) {
  constexpr int64_t kWordsOfRun = 8;  // that cost as much as one run
  int64_t runs = 0, words = 0;
  for (const LiveRow* row = first; row != last; ++row) {
    if (row->bits >= 0) return false;
    const Runs& set = rows.sets[static_cast<size_t>(row->set)];
    runs += FirstAfter(set, row->hi - 1) - FirstAfter(set, row->lo) + 1;
    words += WordsFor(row->hi - row->lo);
  }
  return runs * kWordsOfRun < words + 2 * kWordsOfRun * (last - first);
}

void AddRunsTile(const PlaneRows& rows, const LiveRow* first, const LiveRow* last, const Tile& tile,
                 const TileParams& params, Plane& plane) {
  std::vector<Change> changes;
  std::vector<size_t> above;  // where the changes of the row above are in `changes`
  Runs runs;
  for (const LiveRow* row = first; row != last; ++row) {
    const uint64_t lanes = LanesOf(rows, row, tile, params.heads);
    Clip(rows.sets[static_cast<size_t>(row->set)], {row->lo, row->hi}, runs);
    const size_t before = above.size();
    if (before < 2 * runs.size()) above.resize(2 * runs.size());
    for (size_t n = 0; n < 2 * runs.size(); ++n) {
      const int64_t key = n % 2 == 0 ? runs[n / 2].begin : runs[n / 2].end;
      // Most rows begin and end where the one above does: less to sort.
      if (n < before && changes[above[n]].key == key) {
        changes[above[n]].lanes |= lanes;
      } else {
        above[n] = changes.size();
        changes.push_back({key, lanes});
      }
    }
  }
  std::sort(changes.begin(), changes.end(),
            [](const Change& a, const Change& b) { return a.key < b.key; });
  const size_t first_segment = plane.segments.size();
  const uint64_t all = RangeWord(0, tile.lanes, 0);
  uint64_t lanes = 0;  // that attend the keys from here on
  for (size_t n = 0; n + 1 < changes.size(); ++n) {
    lanes ^= changes[n].lanes;
    const int64_t begin = changes[n].key, end = changes[n + 1].key;
    if (begin == end || lanes == 0) continue;
    if (lanes == all) {
      AddFull(begin, end, first_segment, plane);
    } else {
      std::fill_n(AddBits(begin, end, first_segment, plane), end - begin, lanes);
    }
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
