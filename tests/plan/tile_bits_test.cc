// Lane bits of irregular tiles.
#include "plan/tile_bits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_array.h"

namespace skipattn::internal {
namespace {

using test::OneIn;
using test::Rng;
using test::Uniform;

TEST(TransposeBitsTest, SingleBits) {
  for (int r = 0; r < 64; ++r) {
    for (int c = 0; c < 64; ++c) {
      uint64_t words[64] = {}, expected[64] = {};
      words[r] = uint64_t{1} << c;
      expected[c] = uint64_t{1} << r;
      TransposeBits(words);
      ASSERT_TRUE(std::equal(std::begin(words), std::end(words), expected)) << r << " " << c;
    }
  }
}

TEST(TransposeBitsTest, RandomMatrices) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    uint64_t words[64], turned[64];
    for (int r = 0; r < 64; ++r) turned[r] = words[r] = rng();
    TransposeBits(turned);
    for (int r = 0; r < 64; ++r) {
      for (int c = 0; c < 64; ++c) ASSERT_EQ(turned[c] >> r & 1, words[r] >> c & 1);
    }
    TransposeBits(turned);
    EXPECT_TRUE(std::equal(std::begin(words), std::end(words), turned)) << "twice is identity";
  }
}

/// Rows of a plane made by hand: `allowed` is one line of 0 and 1 per row.
PlaneRows RowsOf(const std::vector<std::string>& allowed) {
  auto bits = std::make_shared<BitMatrix>();
  bits->keys = static_cast<int64_t>(allowed.at(0).size());
  PlaneRows rows;
  rows.sets = {{{0, bits->keys}}};
  for (const std::string& line : allowed) {
    const int64_t number = static_cast<int64_t>(rows.rows.size());
    std::vector<uint64_t> words(static_cast<size_t>(WordsFor(bits->keys)));
    for (size_t j = 0; j < line.size(); ++j) words[j / 64] |= uint64_t{line[j] == '1'} << (j % 64);
    bits->words.insert(bits->words.end(), words.begin(), words.end());
    bits->row_of.push_back(number);
    rows.rows.push_back({number, static_cast<int64_t>(line.find('1')),
                         static_cast<int64_t>(line.rfind('1')) + 1, 0, number});
  }
  rows.groups = {{0, rows.rows.size(), 0}};
  rows.bits = bits;
  return rows;
}

/// The tile of lanes [first, first + lanes).
Plane TileOf(const PlaneRows& rows, int64_t first, int64_t lanes, const TileParams& params) {
  Plane plane;
  for (const LiveRow& row : rows.rows) {
    plane.queries.push_back(row.query);
    plane.intervals.push_back({row.lo, row.hi});
  }
  Tile tile = {first, static_cast<int32_t>(lanes), 1, 0, 0, 0};
  const LiveRow* data = rows.rows.data();
  AddBitsTile(rows, data + first / params.heads, data + (first + lanes - 1) / params.heads + 1,
              tile, params, rows.bits->keys, plane);
  tile.segment_count = static_cast<int64_t>(plane.segments.size());
  plane.tiles.push_back(tile);
  return plane;
}

TEST(AddBitsTileTest, SegmentsOfASmallTile) {
  const PlaneRows rows = RowsOf({"0110010", "0100010"});
  const Plane plane = TileOf(rows, 0, 2, {});
  ASSERT_EQ(plane.segments.size(), 2u);
  EXPECT_EQ(plane.segments[0].begin, 1);
  EXPECT_EQ(plane.segments[0].end, 3);
  EXPECT_EQ(plane.segments[0].kind, SegmentKind::kBits);
  EXPECT_EQ(plane.segments[1].begin, 5);
  EXPECT_EQ(plane.segments[1].end, 6);
  EXPECT_EQ(plane.lane_bits, (std::vector<uint64_t>{3, 1, 3}));
}

TEST(AddBitsTileTest, EqualRowsAreFullAcrossWords) {
  const std::string line = std::string(10, '0') + std::string(150, '1') + "0" + std::string(9, '1');
  const Plane plane = TileOf(RowsOf({line, line}), 0, 2, {});
  ASSERT_EQ(plane.segments.size(), 2u);
  EXPECT_TRUE(plane.lane_bits.empty());
  EXPECT_EQ(plane.segments[0].begin, 10);
  EXPECT_EQ(plane.segments[0].end, 160);
  EXPECT_EQ(plane.segments[0].kind, SegmentKind::kFull);
  EXPECT_EQ(plane.segments[1].begin, 161);
  EXPECT_EQ(plane.segments[1].end, 170);
}

TEST(AddBitsTileTest, ASecondTileDoesNotJoinTheFirst) {
  const std::string low = std::string(64, '1') + std::string(64, '0');
  const std::string high = std::string(64, '0') + std::string(64, '1');
  const PlaneRows rows = RowsOf({low, high});
  Plane plane;
  for (int64_t lane = 0; lane < 2; ++lane) {
    const Tile tile = {lane, 1, 1, lane, 0, 0};
    const LiveRow* row = rows.rows.data() + lane;
    AddBitsTile(rows, row, row + 1, tile, {}, rows.bits->keys, plane);
  }
  ASSERT_EQ(plane.segments.size(), 2u);
  EXPECT_EQ(plane.segments[1].begin, 64);
}

TEST(AddBitsTileTest, WithoutSkippingEveryKeyIsThere) {
  TileParams params;
  params.skipping = Skipping::kOff;
  const std::string line = "0010" + std::string(200, '0') + "1";
  const Plane plane = TileOf(RowsOf({line}), 0, 1, params);
  EXPECT_EQ(test::Decode(plane, plane.tiles[0], 1, 205).read, std::vector<uint8_t>(205, 1));
}

TEST(AddBitsTileTest, RandomTiles) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t keys = test::RandomSize(rng, 1, 300), count = Uniform(rng, 1, 40);
    const int64_t density = test::PickOf(rng, {2, 10, 200});
    const bool zeros = OneIn(rng, 2);  // rather than ones
    std::vector<std::string> allowed;
    while (static_cast<int64_t>(allowed.size()) < count) {
      std::string line(static_cast<size_t>(keys), '0');
      for (char& c : line) c = OneIn(rng, density) == zeros ? '1' : '0';
      line[static_cast<size_t>(Uniform(rng, 0, keys - 1))] = '1';
      allowed.push_back(!allowed.empty() && OneIn(rng, 2) ? allowed.back() : line);
    }
    TileParams params;
    params.heads = Uniform(rng, 1, 3);
    params.skipping = OneIn(rng, 3) ? Skipping::kOff : Skipping::kOn;
    const int64_t first = Uniform(rng, 0, count * params.heads - 1);
    const int64_t lanes =
        Uniform(rng, 1, std::min<int64_t>(count * params.heads - first, kMaxTileRows));
    const Plane plane = TileOf(RowsOf(allowed), first, lanes, params);
    const test::DecodedTile decoded = test::Decode(plane, plane.tiles[0], params.heads, keys);
    for (int64_t j = 0; j < keys; ++j) {
      bool any = params.skipping == Skipping::kOff;
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const std::string& line = allowed[static_cast<size_t>((first + lane) / params.heads)];
        const bool attends = line[static_cast<size_t>(j)] == '1';
        any = any || attends;
        ASSERT_EQ(decoded.attends[static_cast<size_t>(lane)][static_cast<size_t>(j)] != 0, attends)
            << "lane " << lane << " key " << j;
      }
      ASSERT_EQ(decoded.read[static_cast<size_t>(j)], any ? 1 : 0) << "key " << j;
    }
    for (size_t s = 1; s < plane.segments.size(); ++s) {
      ASSERT_LE(plane.segments[s - 1].end, plane.segments[s].begin);
    }
  }
}

/// Rows of the sets of the same lines instead of bits.
PlaneRows SetsOf(const std::vector<std::string>& allowed) {
  PlaneRows rows = RowsOf(allowed);
  rows.sets.clear();
  for (LiveRow& row : rows.rows) {
    row.set = static_cast<int32_t>(rows.sets.size());
    rows.sets.push_back(RunsOf(rows.bits->Row(row.bits)));
    row.bits = -1;
  }
  return rows;
}

TEST(AddRunsTileTest, SinksAndAWindow) {
  const PlaneRows rows = SetsOf({"11000111000", "11000011100", "11000001110"});
  Plane plane;
  const Tile tile = {0, 3, 1, 0, 0, 0};
  ASSERT_TRUE(HasFewRuns(rows, rows.rows.data(), rows.rows.data() + 3));
  AddRunsTile(rows, rows.rows.data(), rows.rows.data() + 3, tile, {}, plane);
  ASSERT_EQ(plane.segments.size(), 4u);
  const internal::Run expected[] = {{0, 2}, {5, 7}, {7, 8}, {8, 10}};
  for (size_t s = 0; s < 4; ++s) {
    EXPECT_EQ((internal::Run{plane.segments[s].begin, plane.segments[s].end}), expected[s]);
    EXPECT_EQ(plane.segments[s].kind, s % 2 == 0 ? SegmentKind::kFull : SegmentKind::kBits);
  }
  EXPECT_EQ(plane.lane_bits, (std::vector<uint64_t>{1, 3, 6, 4}));
}

TEST(AddRunsTileTest, IsForRowsOfFewRuns) {
  const std::string holes = "10101010101010101010101010101010101010101010101010101010";
  const std::string two = "11" + std::string(40, '0') + "11";
  const auto few = [](const PlaneRows& rows) {
    return HasFewRuns(rows, rows.rows.data(), rows.rows.data() + rows.rows.size());
  };
  const std::string other = "111" + std::string(39, '0') + "11";
  EXPECT_TRUE(few(SetsOf({two, other})));
  EXPECT_FALSE(few(SetsOf({holes, holes})));
  EXPECT_FALSE(few(RowsOf({two, two})));  // bits
}

// Both builders of the same rows, whatever the number of runs.
TEST(AddRunsTileTest, GivesTheTileOfAddBitsTile) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t keys = test::RandomSize(rng, 1, 300), count = Uniform(rng, 1, 20);
    std::vector<std::string> allowed;
    while (static_cast<int64_t>(allowed.size()) < count) {
      std::string line(static_cast<size_t>(keys), '0');
      for (int64_t runs = Uniform(rng, 1, 4); runs > 0; --runs) {
        const int64_t begin = Uniform(rng, 0, keys - 1), end = Uniform(rng, begin + 1, keys);
        std::fill(line.begin() + begin, line.begin() + end, '1');
      }
      allowed.push_back(!allowed.empty() && OneIn(rng, 3) ? allowed.back() : line);
    }
    TileParams params;
    params.heads = Uniform(rng, 1, 3);
    const int64_t first = Uniform(rng, 0, count * params.heads - 1);
    const int64_t lanes =
        Uniform(rng, 1, std::min<int64_t>(count * params.heads - first, kMaxTileRows));
    const PlaneRows sets = SetsOf(allowed);
    const Plane want = TileOf(RowsOf(allowed), first, lanes, params);
    Plane got;
    got.intervals = want.intervals;
    Tile tile = {first, static_cast<int32_t>(lanes), 1, 0, 0, 0};
    const LiveRow* data = sets.rows.data();
    AddRunsTile(sets, data + first / params.heads, data + (first + lanes - 1) / params.heads + 1,
                tile, params, got);
    tile.segment_count = static_cast<int64_t>(got.segments.size());
    const test::DecodedTile a = test::Decode(got, tile, params.heads, keys);
    const test::DecodedTile b = test::Decode(want, want.tiles[0], params.heads, keys);
    ASSERT_EQ(a.attends, b.attends);
    ASSERT_EQ(a.read, b.read);
  }
}

}  // namespace
}  // namespace skipattn::internal
