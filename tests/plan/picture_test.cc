// The picture of a plan's mask.
#include <gtest/gtest.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "plan/plan_data.h"
#include "tests/plan/decode.h"

namespace skipattn::internal {
namespace {

using test::SizesOf;
using Lines = std::vector<std::string>;

PlanData Build(const Problem& problem, const Mask& mask, int64_t vector_lanes) {
  TileParams params;
  params.vector_lanes = vector_lanes;
  return BuildPlan(problem, mask, {}, params, test::PlainScan);
}

/// The lines below the first one, which explains them.
Lines PictureOf(const Problem& problem, const Mask& mask, int64_t vector_lanes = 1) {
  std::istringstream text(Picture(Build(problem, mask, vector_lanes)));
  Lines lines;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line)) {
    EXPECT_EQ(line.substr(0, 2), "  ");
    lines.push_back(line.substr(2));
  }
  return lines;
}

TEST(PictureTest, SmallMasksElementByElement) {
  const Problem square = SizesOf(1, 1, 1, 4, 4);
  EXPECT_EQ(PictureOf(square, {}), (Lines{"####", "####", "####", "####"}));
  EXPECT_EQ(PictureOf(square, mask::Causal()), (Lines{"#...", "##..", "###.", "####"}));
  EXPECT_EQ(PictureOf(square, mask::Window(1, 0)), (Lines{"#...", "##..", ".##.", "..##"}));
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 2, 5), mask::Causal(mask::Align::kBottomRight)),
            (Lines{"####.", "#####"}));
}

TEST(PictureTest, PartlyMaskedKeysOfATile) {
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 4, 4), mask::Causal(), 2),
            (Lines{"#+..", "#+..", "###+", "###+"}));
}

TEST(PictureTest, EmptyRowsAndHoles) {
  const std::vector<int64_t> begin = {1}, end = {3};
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 4, 4), mask::QueryRange(begin, end)),
            (Lines{"....", "####", "####", "...."}));
  const std::vector<uint8_t> valid = {1, 0, 1, 1};
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 2, 4),
                      mask::KeyValid(ConstTensor(valid.data(), DType::kBool, {1, 4}))),
            (Lines{"#.##", "#.##"}));
}

TEST(PictureTest, InterleavedDocuments) {
  const std::vector<int64_t> ids = {0, 1, 0, 1};
  const Mask mask =
      mask::Documents(ConstTensor(ids.data(), {1, 4}), ConstTensor(ids.data(), {1, 4}));
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 4, 4), mask, 4), (Lines{"#.#.", ".#.#", "#.#.", ".#.#"}));
}

TEST(PictureTest, RowsThatSpanTwoTiles) {
  // Three heads side by side in vectors of 8: lanes of queries 2 and 5 are in two tiles.
  EXPECT_EQ(PictureOf(SizesOf(1, 3, 1, 7, 5), {}, 8), Lines(7, "#####"));
}

TEST(PictureTest, ShowsTheFirstPlane) {
  const std::vector<int64_t> lengths = {2, 4};
  EXPECT_EQ(PictureOf(SizesOf(2, 1, 1, 1, 4), mask::KeyLengths(lengths)), (Lines{"##.."}));
}

TEST(PictureTest, LargeMasksAreScaledDown) {
  constexpr int64_t kLength = 1000, kLanes = 8;
  const Problem problem = SizesOf(1, 1, 1, kLength, kLength);
  const std::string text = Picture(Build(problem, mask::Causal(), kLanes));
  EXPECT_NE(text.find("one line = 42 queries, one character = 16 keys"), std::string::npos) << text;
  const Lines lines = PictureOf(problem, mask::Causal(), kLanes);
  ASSERT_EQ(lines.size(), 24u);
  for (int64_t line = 0; line < 24; ++line) {
    const std::string& cells = lines[static_cast<size_t>(line)];
    ASSERT_EQ(cells.size(), 63u);
    for (int64_t column = 0; column < 63; ++column) {
      const char cell = cells[static_cast<size_t>(column)];
      if (column * 16 > line * 42 + 41 + kLanes) {
        EXPECT_EQ(cell, '.') << line << " " << column;
      } else if (column * 16 + 15 < line * 42 - kLanes) {
        EXPECT_EQ(cell, '#') << line << " " << column;
      } else if (column * 16 + 15 > line * 42 + kLanes && column * 16 < line * 42 + 41 - kLanes) {
        EXPECT_EQ(cell, '+') << line << " " << column;
      }
    }
  }
}

TEST(PictureTest, LinesAndColumnsThatAreNotFilled) {
  // 99 keys in columns of 2, 25 queries in lines of 2.
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 25, 99), {}), Lines(13, std::string(50, '#')));
  // A line of one empty and one live row is partly masked.
  const std::vector<int64_t> begin = {1}, end = {47};
  Lines expected(24, "####");
  expected.front() = expected.back() = "++++";
  EXPECT_EQ(PictureOf(SizesOf(1, 1, 1, 48, 4), mask::QueryRange(begin, end)), expected);
}

TEST(PictureTest, NothingToShow) {
  for (const Problem& problem :
       {SizesOf(0, 1, 1, 4, 4), SizesOf(1, 1, 1, 0, 4), SizesOf(1, 1, 1, 4, 0)}) {
    EXPECT_EQ(Picture(Build(problem, {}, 1)), "");
  }
}

}  // namespace
}  // namespace skipattn::internal
