// One plane of a plan as an SVG picture; see Drawing in plan_data.h.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "plan/plan_data.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using std::to_string;

constexpr double kWidth = 900, kHeight = 700;  // of the mask, at most, in pixels
constexpr double kLeastSide = 40;              // so that a single query can be seen
constexpr size_t kMostLiveRuns = 200000;       // more would make files of many megabytes

constexpr char kFullColour[] = "#08519c", kLiveColour[] = "#6baed6", kPartialColour[] = "#d6e6f4",
               kSkippedColour[] = "#f4f4f4";

/// Rectangles of one colour as one path, in units of keys and queries.
class Area {
 public:
  void Add(const Run& keys, const Run& queries) {
    if (keys.end <= keys.begin) return;
    const std::string width = to_string(keys.end - keys.begin);
    path_ += "M" + to_string(keys.begin) + " " + to_string(queries.begin) + "h" + width + "v" +
             to_string(queries.end - queries.begin) + "h-" + width + "z";
  }
  std::string Element(const std::string& style) const {
    return path_.empty() ? "" : "<path " + style + " d=\"" + path_ + "\"/>\n";
  }

 private:
  std::string path_;
};

class Painter {
 public:
  Painter(const PlanData& plan, const Plane& plane) : plan_(plan), plane_(plane) {
    for (const Tile& tile : plane.tiles) AddTile(tile);
  }

  std::string Elements() const {
    const auto fill = [](const char* colour) { return std::string("fill=\"") + colour + "\""; };
    return full_.Element(fill(kFullColour)) + partial_.Element(fill(kPartialColour)) +
           live_.Element(fill(kLiveColour)) +
           tiles_.Element("fill=\"none\" stroke=\"#ffffff\" vector-effect=\"non-scaling-stroke\"");
  }
  bool shows_all() const { return live_runs_ <= kMostLiveRuns; }

 private:
  int64_t RowOf(int64_t lane) const { return lane / plan_.params.heads; }

  void AddTile(const Tile& tile) {
    const int64_t first = RowOf(tile.first_lane), last = RowOf(tile.first_lane + tile.lanes - 1);
    for (int64_t begin = first; begin <= last;) {  // queries beside each other at once
      int64_t end = begin + 1;
      while (end <= last && Query(end) == Query(end - 1) + 1) ++end;
      const Run queries = {Query(begin), Query(end - 1) + 1};
      tiles_.Add({0, plan_.problem.k_len}, queries);
      for (int64_t s = 0; s < tile.segment_count; ++s) {
        const Segment& segment = plane_.segments[static_cast<size_t>(tile.first_segment + s)];
        const Run keys = {segment.begin, segment.end};
        (segment.kind == SegmentKind::kFull ? full_ : partial_).Add(keys, queries);
        if (segment.kind == SegmentKind::kFull) continue;
        for (int64_t row = begin; row < end; ++row) AddLive(tile, segment, row);
      }
      begin = end;
    }
  }

  int64_t Query(int64_t row) const { return plane_.queries[static_cast<size_t>(row)]; }

  /// The keys of a partial segment that a row attends.
  void AddLive(const Tile& tile, const Segment& segment, int64_t row) {
    if (segment.kind == SegmentKind::kInterval) {
      const Run& bounds = plane_.intervals[static_cast<size_t>(row)];
      AddLiveRun({std::max(bounds.begin, segment.begin), std::min(bounds.end, segment.end)}, row);
      return;
    }
    const int64_t lane = std::max<int64_t>(row * plan_.params.heads - tile.first_lane, 0);
    const auto attends = [&](int64_t key) {
      const size_t word = static_cast<size_t>(segment.bits + key - segment.begin);
      return ((plane_.lane_bits[word] >> lane) & 1) != 0;
    };
    for (int64_t key = segment.begin; key < segment.end;) {
      int64_t end = key;
      while (end < segment.end && attends(end)) ++end;
      AddLiveRun({key, end}, row);
      key = end + 1;
    }
  }

  void AddLiveRun(const Run& keys, int64_t row) {
    if (keys.end <= keys.begin || ++live_runs_ > kMostLiveRuns) return;
    live_.Add(keys, {Query(row), Query(row) + 1});
  }

  const PlanData& plan_;
  const Plane& plane_;
  Area full_, partial_, live_, tiles_;
  size_t live_runs_ = 0;
};

std::string Text(double x, double y, const std::string& text) {
  return "<text x=\"" + to_string(static_cast<int64_t>(x)) + "\" y=\"" +
         to_string(static_cast<int64_t>(y)) + "\">" + text + "</text>\n";
}

std::string Legend(double y, bool shows_all) {
  const std::pair<const char*, std::string> entries[] = {
      {kFullColour, "full: no mask looked at"},
      {kLiveColour,
       shows_all ? "live pairs of partial segments" : "live pairs (too many to draw all of them)"},
      {kPartialColour, "partial: computed, selected away"},
      {kSkippedColour, "skipped"}};
  std::string text;
  double x = 0;
  for (const auto& [colour, name] : entries) {
    text += "<rect x=\"" + to_string(static_cast<int64_t>(x)) + "\" y=\"" +
            to_string(static_cast<int64_t>(y - 11)) + "\" width=\"12\" height=\"12\" fill=\"" +
            colour + "\" stroke=\"#999999\"/>\n" + Text(x + 18, y, name);
    x += 34 + 7 * static_cast<double>(name.size());
  }
  return text;
}

}  // namespace

std::string Drawing(const PlanData& plan, int64_t b, int64_t head) {
  const int64_t queries = plan.problem.q_len, keys = plan.problem.k_len;
  const double scale = std::min(kWidth / static_cast<double>(std::max<int64_t>(keys, 1)),
                                kHeight / static_cast<double>(std::max<int64_t>(queries, 1)));
  const int64_t width = static_cast<int64_t>(std::max(kLeastSide, scale * keys));
  const int64_t height = static_cast<int64_t>(std::max(kLeastSide, scale * queries));
  std::string inside;
  bool shows_all = true;
  if (!plan.planes.empty()) {
    const Painter painter(plan, plan.PlaneOf(b, head / plan.params.heads));
    inside = painter.Elements();
    shows_all = painter.shows_all();
  }
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"940\" height=\"" +
         to_string(height + 80) +
         "\" font-family=\"sans-serif\" font-size=\"12\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n<g transform=\"translate(20 "
         "20)\">\n" +
         Text(0, 0,
              to_string(queries) + " queries (down) x " + to_string(keys) +
                  " keys (across), batch entry " + to_string(b) + ", head " + to_string(head)) +
         "<svg y=\"12\" width=\"" + to_string(width) + "\" height=\"" + to_string(height) +
         "\" viewBox=\"0 0 " + to_string(std::max<int64_t>(keys, 1)) + " " +
         to_string(std::max<int64_t>(queries, 1)) +
         "\" preserveAspectRatio=\"none\" shape-rendering=\"crispEdges\">\n"
         "<rect width=\"100%\" height=\"100%\" fill=\"" +
         kSkippedColour + "\"/>\n" + inside + "</svg>\n" +
         Legend(static_cast<double>(height) + 36, shows_all) + "</g>\n</svg>\n";
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
