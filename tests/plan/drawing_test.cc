// The SVG picture of a plan: its rectangles, counted pair by pair.
#include <gtest/gtest.h>

#include <cstdint>
#include <regex>
#include <string>
#include <vector>

#include "plan/plan_data.h"
#include "tests/plan/decode.h"

namespace skipattn::internal {
namespace {

using test::SizesOf;

PlanData Build(const Problem& problem, const Mask& mask, int64_t vector_lanes) {
  TileParams params;
  params.vector_lanes = vector_lanes;
  return BuildPlan(problem, mask, {}, params, test::PlainScan);
}

/// What each pair is painted with, the last path winning: 'F'ull, 'L'ive, 'P'artial or '.'.
std::vector<std::string> Paint(const PlanData& plan, int64_t b = 0, int64_t head = 0) {
  const std::string svg = Drawing(plan, b, head);
  std::vector<std::string> pairs(static_cast<size_t>(plan.problem.q_len),
                                 std::string(static_cast<size_t>(plan.problem.k_len), '.'));
  static const std::regex kPath("<path fill=\"(#[0-9a-f]+)\" d=\"([^\"]*)\"");
  static const std::regex kBox("M(\\d+) (\\d+)h(\\d+)v(\\d+)h-\\d+z");
  for (std::sregex_iterator path(svg.begin(), svg.end(), kPath), end; path != end; ++path) {
    const std::string colour = (*path)[1], d = (*path)[2];
    const char kind = colour == "#08519c" ? 'F' : colour == "#6baed6" ? 'L' : 'P';
    for (std::sregex_iterator box(d.begin(), d.end(), kBox); box != end; ++box) {
      const size_t x = std::stoul((*box)[1]), y = std::stoul((*box)[2]);
      const size_t width = std::stoul((*box)[3]), height = std::stoul((*box)[4]);
      for (size_t i = y; i < y + height; ++i) pairs.at(i).replace(x, width, width, kind);
    }
  }
  return pairs;
}

using Lines = std::vector<std::string>;

TEST(DrawingTest, TilesOfACausalMask) {
  const Problem problem = SizesOf(1, 1, 1, 4, 4);
  EXPECT_EQ(Paint(Build(problem, {}, 4)), Lines(4, "FFFF"));
  EXPECT_EQ(Paint(Build(problem, mask::Causal(), 2)), (Lines{"FP..", "FL..", "FFFP", "FFFL"}));
}

TEST(DrawingTest, BitsHolesAndEmptyRows) {
  const std::vector<uint8_t> pairs = {1, 0, 1, 0,  //
                                      0, 0, 0, 0,  //
                                      1, 1, 0, 0,  //
                                      0, 1, 1, 0};
  const Mask dense = mask::Dense(ConstTensor(pairs.data(), DType::kBool, {4, 4}), "qk");
  EXPECT_EQ(Paint(Build(SizesOf(1, 1, 1, 4, 4), dense, 4)),
            (Lines{"LPL.", "....", "LLP.", "PLL."}));
  // Two heads side by side: the last row has a tile of its own.
  EXPECT_EQ(Paint(Build(SizesOf(1, 2, 1, 4, 4), dense, 4), 0, 1),
            (Lines{"LPL.", "....", "LLP.", ".FF."}));
}

TEST(DrawingTest, TheEntryThatIsAskedFor) {
  const std::vector<int64_t> lengths = {2, 4};
  const PlanData plan = Build(SizesOf(2, 1, 1, 1, 4), mask::KeyLengths(lengths), 1);
  EXPECT_EQ(Paint(plan, 0), Lines{"FF.."});
  EXPECT_EQ(Paint(plan, 1), Lines{"FFFF"});
}

TEST(DrawingTest, NothingToDraw) {
  EXPECT_NE(Drawing(Build(SizesOf(1, 1, 1, 0, 0), {}, 1), 0, 0).find("</svg>"), std::string::npos);
}

TEST(DrawingTest, TooManyRunsAreLeftOutAndSaidSo) {
  constexpr int64_t kLength = 700;
  std::vector<uint8_t> pairs(kLength * kLength);
  for (size_t n = 0; n < pairs.size(); ++n) pairs[n] = (n / kLength + n) % 2 == 0;
  const Mask dense = mask::Dense(ConstTensor(pairs.data(), DType::kBool, {kLength, kLength}), "qk");
  const std::string svg = Drawing(Build(SizesOf(1, 1, 1, kLength, kLength), dense, 8), 0, 0);
  EXPECT_NE(svg.find("too many"), std::string::npos);
  EXPECT_LT(svg.size(), 5u << 20);
}

}  // namespace
}  // namespace skipattn::internal
