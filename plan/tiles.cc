// Rows to tiles; see tiles.h.
#include "plan/tiles.h"

#include <algorithm>

#include "plan/tile_bits.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// Adds the keys of [begin, end) that are in `allowed` as segments of one kind.
void AddSegments(const Runs& allowed, int64_t begin, int64_t end, SegmentKind kind,
                 std::vector<Segment>& segments) {
  if (begin >= end) return;
  for (auto run = FirstAfter(allowed, begin); run != allowed.end() && run->begin < end; ++run) {
    segments.push_back({std::max(begin, run->begin), std::min(end, run->end), kind, 0});
  }
}

/// The union of intervals that are given in any order.
Runs UnionOf(std::vector<Run> intervals) {
  const auto before = [](const Run& a, const Run& b) { return a.begin < b.begin; };
  if (!std::is_sorted(intervals.begin(), intervals.end(), before)) {
    std::sort(intervals.begin(), intervals.end(), before);
  }
  Runs merged;
  for (const Run& one : intervals) {
    if (!merged.empty() && one.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, one.end);
    } else {
      merged.push_back(one);
    }
  }
  return merged;
}

/// Segments of rows whose keys are intervals of one and the same set.
void AddIntervalTile(const Runs& allowed, const LiveRow* first, const LiveRow* last,
                     std::vector<Segment>& segments) {
  std::vector<Run> intervals;
  Run full = {first->lo, first->hi};  // keys that all rows attend
  for (const LiveRow* row = first; row != last; ++row) {
    if (intervals.empty() || !(intervals.back() == Run{row->lo, row->hi})) {
      intervals.push_back({row->lo, row->hi});
    }
    full = {std::max(full.begin, row->lo), std::min(full.end, row->hi)};
  }
  if (full.begin >= full.end) full = {0, 0};
  for (const Run& any : UnionOf(std::move(intervals))) {
    if (full.begin < any.begin || full.end > any.end || full.begin == full.end) {
      AddSegments(allowed, any.begin, any.end, SegmentKind::kInterval, segments);
      continue;
    }
    AddSegments(allowed, any.begin, full.begin, SegmentKind::kInterval, segments);
    AddSegments(allowed, full.begin, full.end, SegmentKind::kFull, segments);
    AddSegments(allowed, full.end, any.end, SegmentKind::kInterval, segments);
  }
}

/// The tiles of one plane, one after the other.
class Builder {
 public:
  Builder(const PlaneRows& rows, int64_t keys, const TileParams& params)
      : rows_(rows), keys_(keys), params_(params) {}

  Plane Build() {
    plane_.empty_rows = rows_.empty_rows;
    plane_.queries.reserve(rows_.rows.size());
    plane_.intervals.reserve(rows_.rows.size());
    for (const LiveRow& row : rows_.rows) {
      plane_.queries.push_back(row.query);
      plane_.intervals.push_back({row.lo, row.hi});
    }
    for (const RowGroup& group : rows_.groups) AddGroup(group);
    return std::move(plane_);
  }

 private:
  void AddGroup(const RowGroup& group) {
    const int64_t begin = static_cast<int64_t>(group.begin) * params_.heads;
    const int64_t end = static_cast<int64_t>(group.end) * params_.heads;
    int64_t lane = begin;
    for (const int height : CoverVectors(KeysOfVectors(lane, end), params_.heights)) {
      const int64_t lanes = std::min(height * params_.vector_lanes, end - lane);
      Tile tile = {lane,
                   static_cast<int32_t>(lanes),
                   height,
                   static_cast<int64_t>(plane_.segments.size()),
                   0,
                   group.origin,
                   height == 1 ? FewFor(lanes, lanes == end - begin) : -1};
      AddTileSegments(tile);
      tile.segment_count = static_cast<int64_t>(plane_.segments.size()) - tile.first_segment;
      plane_.tiles.push_back(tile);
      lane += lanes;
    }
  }

  /// The kernel for a vector of `lanes` rows, if there is one. Those for a whole vector differ from
  /// the ordinary ones in that they wait for memory, which others have fetched unless the tile is
  /// the only one to read its keys.
  int32_t FewFor(int64_t lanes, bool only_tile) const {
    const std::vector<FewRowsCost>& few = params_.heights.few;
    for (size_t n = 0; n < few.size(); ++n) {
      if (lanes > few[n].most) continue;
      return few[n].most < params_.vector_lanes || only_tile ? static_cast<int32_t>(n) : -1;
    }
    return -1;
  }

  /// The keys of each vector of the lanes [lane, end): from the lowest to the highest, or run by
  /// run where rows have sets of their own.
  std::vector<VectorKeys> KeysOfVectors(int64_t lane, int64_t end) const {
    const LiveRow* first = &rows_.rows[static_cast<size_t>(lane / params_.heads)];
    const LiveRow* last = &rows_.rows[static_cast<size_t>((end - 1) / params_.heads)] + 1;
    const bool own_sets =
        std::any_of(first, last, [&](const LiveRow& row) { return row.set != first->set; });
    std::vector<VectorKeys> keys;
    for (; lane < end; lane += params_.vector_lanes) {
      const int64_t last_lane = std::min(lane + params_.vector_lanes, end) - 1;
      first = &rows_.rows[static_cast<size_t>(lane / params_.heads)];
      last = &rows_.rows[static_cast<size_t>(last_lane / params_.heads)] + 1;
      keys.push_back({BoundsOf(first, last)});
      if (own_sets) keys.back().runs = UniteRows(first, last);
    }
    return keys;
  }

  static Run BoundsOf(const LiveRow* first, const LiveRow* last) {
    Run bounds = {first->lo, first->hi};
    for (const LiveRow* row = first; row != last; ++row) {
      bounds = {std::min(bounds.begin, row->lo), std::max(bounds.end, row->hi)};
    }
    return bounds;
  }

  /// The keys of rows; none where they have bits or are too many runs to look at.
  Runs UniteRows(const LiveRow* first, const LiveRow* last) const {
    constexpr size_t kMostRuns = 64;
    Runs runs, part, united;
    while (first != last) {
      const LiveRow* next = std::find_if(
          first, last, [&](const LiveRow& row) { return row.set != first->set || row.bits >= 0; });
      if (next == first) return {};
      Clip(rows_.sets[static_cast<size_t>(first->set)], BoundsOf(first, next), part);
      Unite(runs, part, united);
      std::swap(runs, united);
      if (runs.size() > kMostRuns) return {};
      first = next;
    }
    return runs;
  }

  void AddTileSegments(const Tile& tile) {
    const LiveRow* first = &rows_.rows[static_cast<size_t>(tile.first_lane / params_.heads)];
    const LiveRow* last =
        &rows_.rows[static_cast<size_t>((tile.first_lane + tile.lanes - 1) / params_.heads)] + 1;
    const bool one_set = std::all_of(first, last, [&](const LiveRow& row) {
      return row.set == first->set && row.bits == first->bits;
    });
    if (one_set && params_.skipping == Skipping::kOn) {
      AddIntervalTile(SetOf(*first), first, last, plane_.segments);
    } else if (params_.skipping == Skipping::kOn && HasFewRuns(rows_, first, last)) {
      AddRunsTile(rows_, first, last, tile, params_, plane_);
    } else {
      AddBitsTile(rows_, first, last, tile, params_, keys_, plane_);
    }
  }

  /// The set of a row without its interval. Sets with bits are made when they change.
  const Runs& SetOf(const LiveRow& row) {
    const Runs& set = rows_.sets[static_cast<size_t>(row.set)];
    if (row.bits < 0) return set;
    if (row.set != made_set_ || row.bits != made_bits_) {
      made_ = Intersect(set, RunsOf(rows_.bits->Row(row.bits)));
      made_set_ = row.set;
      made_bits_ = row.bits;
    }
    return made_;
  }

  const PlaneRows& rows_;
  const int64_t keys_;
  const TileParams& params_;
  Plane plane_;
  Runs made_;
  int32_t made_set_ = -1;
  int64_t made_bits_ = -1;
};

}  // namespace

Plane BuildTiles(const PlaneRows& rows, int64_t keys, const TileParams& params) {
  return Builder(rows, keys, params).Build();
}

int64_t StoredRows(const Tile& tile, const TileParams& params) {
  if (tile.few >= 0) return params.heights.few[static_cast<size_t>(tile.few)].rows;
  return tile.vectors * params.vector_lanes;
}

int64_t ChunkOf(int64_t key, int64_t origin) {
  const int64_t past = key - origin;
  return past >= 0 ? past / kChunk : -((kChunk - 1 - past) / kChunk);
}

ChunkCounts CountChunks(const Plane& plane, const Tile& tile) {
  ChunkCounts counts;
  int64_t last = ChunkOf(0, tile.origin) - 1;  // the last one counted
  bool last_partial = false;
  for (int64_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = plane.segments[static_cast<size_t>(tile.first_segment + s)];
    const int64_t begin = ChunkOf(segment.begin, tile.origin);
    const int64_t end = ChunkOf(segment.end - 1, tile.origin);
    const bool partial = segment.kind != SegmentKind::kFull;
    if (begin == last && partial && !last_partial) {
      ++counts.partial;
      last_partial = true;
    }
    const int64_t fresh = end - std::max(begin, last + 1) + 1;
    if (fresh > 0) {
      counts.touched += fresh;
      counts.partial += partial ? fresh : 0;
      last_partial = partial;
      last = end;
    }
  }
  return counts;
}

double TileCost(const Plane& plane, const Tile& tile, const TileParams& params) {
  int64_t keys = 0;
  for (int64_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = plane.segments[static_cast<size_t>(tile.first_segment + s)];
    keys += segment.end - segment.begin;
  }
  const HeightCosts& heights = params.heights;
  const float cost = tile.few >= 0 ? heights.few[static_cast<size_t>(tile.few)].cost
                                   : heights.cost[tile.vectors - 1];
  return static_cast<double>(keys) * static_cast<double>(cost);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
