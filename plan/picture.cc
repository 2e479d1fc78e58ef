// The mask of a plan's first plane as text; see Picture in plan_data.h.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr int64_t kWidth = 64, kHeight = 24;
constexpr int64_t kSamples =
    16;  // rows looked at per line, so that a picture costs next to nothing

/// What the cells of the picture hold, added up over the rows looked at.
struct Cells {
  int64_t columns, lines;
  int64_t queries_per_line, keys_per_column;
  std::vector<int64_t> rows_seen, full, partial;  // [lines], then keys in [lines * columns]
};

void AddRow(const Plane& plane, const Tile& tile, int64_t line, Cells& cells) {
  for (int64_t s = 0; s < tile.segment_count; ++s) {
    const Segment& segment = plane.segments[static_cast<size_t>(tile.first_segment + s)];
    std::vector<int64_t>& keys = segment.kind == SegmentKind::kFull ? cells.full : cells.partial;
    const int64_t width = cells.keys_per_column;
    for (int64_t column = segment.begin / width; column * width < segment.end; ++column) {
      const int64_t begin = std::max(segment.begin, column * width);
      const int64_t end = std::min(segment.end, (column + 1) * width);
      keys[static_cast<size_t>(line * cells.columns + column)] += end - begin;
    }
  }
}

char CellText(const Cells& cells, int64_t line, int64_t column, int64_t keys) {
  const size_t at = static_cast<size_t>(line * cells.columns + column);
  const int64_t here = std::min(keys - column * cells.keys_per_column, cells.keys_per_column);
  if (cells.full[at] + cells.partial[at] == 0) return '.';
  const bool whole = cells.full[at] == here * cells.rows_seen[static_cast<size_t>(line)];
  return whole ? '#' : '+';
}

}  // namespace

std::string Picture(const PlanData& plan) {
  const int64_t queries = plan.problem.q_len, keys = plan.problem.k_len;
  if (plan.planes.empty() || queries == 0 || keys == 0) return "";
  const Plane& plane = plan.planes[0];
  Cells cells = {};
  cells.queries_per_line = (queries + kHeight - 1) / kHeight;
  cells.keys_per_column = (keys + kWidth - 1) / kWidth;
  cells.lines = (queries + cells.queries_per_line - 1) / cells.queries_per_line;
  cells.columns = (keys + cells.keys_per_column - 1) / cells.keys_per_column;
  cells.rows_seen.resize(static_cast<size_t>(cells.lines));
  cells.full.resize(static_cast<size_t>(cells.lines * cells.columns));
  cells.partial.resize(cells.full.size());

  const int64_t step = std::max<int64_t>(cells.queries_per_line / kSamples, 1);
  const auto sampled = [&](int64_t query) { return query % cells.queries_per_line % step == 0; };
  for (const Run& run : plane.empty_rows) {
    for (int64_t i = run.begin; i < run.end; ++i) {
      if (sampled(i)) ++cells.rows_seen[static_cast<size_t>(i / cells.queries_per_line)];
    }
  }
  for (const Tile& tile : plane.tiles) {
    const int64_t last = (tile.first_lane + tile.lanes - 1) / plan.params.heads;
    for (int64_t row = tile.first_lane / plan.params.heads; row <= last; ++row) {
      const int64_t query = plane.queries[static_cast<size_t>(row)];
      if (!sampled(query)) continue;
      ++cells.rows_seen[static_cast<size_t>(query / cells.queries_per_line)];
      AddRow(plane, tile, query / cells.queries_per_line, cells);
    }
  }

  std::string text = "one line = " + std::to_string(cells.queries_per_line) +
                     " queries, one character = " + std::to_string(cells.keys_per_column) +
                     " keys: # computed without a mask, + partly masked or partly skipped, "
                     ". skipped\n";
  for (int64_t line = 0; line < cells.lines; ++line) {
    text += "  ";
    for (int64_t column = 0; column < cells.columns; ++column) {
      text += CellText(cells, line, column, keys);
    }
    text += '\n';
  }
  return text;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
