// ChunkReader: where segments are cut, and where the rows of a chunk are.
#include "kernels/chunk.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/random_array.h"

namespace skipattn::internal {
namespace {

using test::OneIn;
using test::PickOf;
using test::Rng;
using test::Uniform;

constexpr SegmentKind kFull = SegmentKind::kFull;

/// A tile of segments alone. Addresses are compared, never followed.
class FakeTile {
 public:
  FakeTile(std::vector<Segment> segments, int64_t origin) : segments_(std::move(segments)) {
    args.segments = segments_.data();
    args.segment_count = segments_.size();
    args.origin = origin;
    args.k = memory_.data() + kKeys * 3;
    args.v = memory_.data() + kKeys * 3 + 1;
    args.k_stride = 2;
    args.v_stride = 3;
    args.lane_bits = bits_.data();
  }

  TileArgs args = {};

 private:
  static constexpr size_t kKeys = 1000;
  std::vector<Segment> segments_;
  std::vector<float> memory_ = std::vector<float>(kKeys * 6 + 2);
  std::vector<uint64_t> bits_ = std::vector<uint64_t>(kKeys * 2);
};

/// The number of keys of each chunk.
std::vector<size_t> SizesOf(const TileArgs& args) {
  std::vector<size_t> sizes;
  ChunkReader reader(args);
  const auto chunk = std::make_unique<Chunk>();
  while (reader.Next(*chunk)) sizes.push_back(chunk->keys);
  EXPECT_FALSE(reader.Next(*chunk)) << "the end stays the end";
  return sizes;
}

/// One chunk's keys, found in its spans; spans must follow each other.
std::vector<int64_t> KeysOf(const Chunk& chunk) {
  std::vector<int64_t> keys;
  for (size_t s = 0; s < chunk.span_count; ++s) {
    const ChunkSpan& span = chunk.spans[s];
    EXPECT_EQ(span.begin, keys.size());
    EXPECT_LT(span.begin, span.end);
    for (size_t n = span.begin; n < span.end; ++n) {
      keys.push_back(span.key + static_cast<int64_t>(n - span.begin));
    }
  }
  EXPECT_EQ(keys.size(), chunk.keys);
  return keys;
}

TEST(ChunkReaderTest, NoSegmentsNoChunks) { EXPECT_TRUE(SizesOf(FakeTile({}, 0).args).empty()); }

TEST(ChunkReaderTest, CutsAtTheGrid) {
  const std::vector<Segment> all = {{0, 300, kFull, 0}};
  EXPECT_EQ(SizesOf(FakeTile(all, 0).args), (std::vector<size_t>{128, 128, 44}));
  EXPECT_EQ(SizesOf(FakeTile(all, 1).args), (std::vector<size_t>{1, 128, 128, 43}));
  EXPECT_EQ(SizesOf(FakeTile(all, 127).args), (std::vector<size_t>{127, 128, 45}));
}

TEST(ChunkReaderTest, ChunksWithoutKeysAreLeftOut) {
  EXPECT_EQ(
      SizesOf(FakeTile({{5, 7, kFull, 0}, {127, 129, kFull, 0}, {700, 701, kFull, 0}}, 0).args),
      (std::vector<size_t>{3, 1, 1}));
}

TEST(ChunkReaderTest, SegmentsThatTouchAreContiguous) {
  const FakeTile tile({{3, 9, kFull, 0}, {9, 20, SegmentKind::kInterval, 0}}, 0);
  ChunkReader reader(tile.args);
  const auto chunk = std::make_unique<Chunk>();
  ASSERT_TRUE(reader.Next(*chunk));
  EXPECT_TRUE(chunk->contiguous);
  ASSERT_EQ(chunk->span_count, 2u);
  EXPECT_EQ(chunk->spans[0].kind, kFull);
  EXPECT_EQ(chunk->spans[1].kind, SegmentKind::kInterval);
  EXPECT_EQ(chunk->spans[1].begin, 6u);
  EXPECT_EQ(chunk->spans[1].key, 9);
}

TEST(ChunkReaderTest, HolesAreNotContiguousAndHaveRowPointers) {
  const FakeTile tile({{3, 5, kFull, 0}, {9, 10, kFull, 0}}, 0);
  ChunkReader reader(tile.args);
  const auto chunk = std::make_unique<Chunk>();
  ASSERT_TRUE(reader.Next(*chunk));
  EXPECT_FALSE(chunk->contiguous);
  const int64_t keys[] = {3, 4, 9};
  for (size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(chunk->k_rows[n], tile.args.k + 2 * keys[n]);
    EXPECT_EQ(chunk->v_rows[n], tile.args.v + 3 * keys[n]);
  }
}

TEST(ChunkReaderTest, ContiguityIsOfEachChunk) {
  const FakeTile tile({{0, 10, kFull, 0}, {20, 300, kFull, 0}}, 0);
  ChunkReader reader(tile.args);
  const auto chunk = std::make_unique<Chunk>();
  for (const bool contiguous : {false, true, true}) {
    ASSERT_TRUE(reader.Next(*chunk));
    EXPECT_EQ(chunk->contiguous, contiguous);
  }
}

TEST(ChunkReaderTest, AChunkOfAsManySpansAsKeysCanHave) {
  std::vector<Segment> segments;
  for (int64_t j = 0; j < 256; ++j) segments.push_back({j, j + 1, kFull, 0});
  EXPECT_EQ(SizesOf(FakeTile(segments, 0).args), (std::vector<size_t>{128, 128}));
}

/// Segments of any kinds over up to 900 keys; those with bits count their lane words from `bits`.
std::vector<Segment> RandomSegments(Rng& rng) {
  std::vector<Segment> segments;
  const int64_t longest = PickOf(rng, {1, 5, 60, 400});
  int64_t bits = Uniform(rng, 0, 9);
  for (int64_t at = Uniform(rng, 0, 200); at < 500; at = segments.back().end) {
    if (OneIn(rng, 2)) at += Uniform(rng, 1, longest);
    const Segment segment = {at, at + Uniform(rng, 1, longest),
                             static_cast<SegmentKind>(Uniform(rng, 0, 2)), bits};
    if (segment.kind == SegmentKind::kBits) bits += segment.end - segment.begin;
    segments.push_back(segment);
  }
  return segments;
}

TEST(ChunkReaderTest, RandomSegments) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::vector<Segment> segments = RandomSegments(rng);
    FakeTile tile(segments, OneIn(rng, 2) ? 0 : Uniform(rng, 0, 127));
    tile.args.k_stride = PickOf(rng, {0, 1, 3, -3});
    tile.args.v_stride = PickOf(rng, {0, 1, 3, -3});
    std::vector<const Segment*> of_key;  // of each listed key
    std::vector<int64_t> listed;
    for (const Segment& segment : segments) {
      for (int64_t j = segment.begin; j < segment.end; ++j) {
        listed.push_back(j);
        of_key.push_back(&segment);
      }
    }

    ChunkReader reader(tile.args);
    const auto chunk = std::make_unique<Chunk>();
    size_t next = 0;
    const auto cell = [&](int64_t key) { return (key - tile.args.origin + 128) / 128; };
    while (reader.Next(*chunk)) {
      const std::vector<int64_t> keys = KeysOf(*chunk);
      ASSERT_FALSE(keys.empty());
      bool contiguous = true;
      for (size_t n = 0; n < keys.size(); ++n) {
        ASSERT_EQ(keys[n], listed.at(next + n));
        ASSERT_EQ(cell(keys[n]), cell(keys[0]));
        contiguous = contiguous && (n == 0 || keys[n] == keys[n - 1] + 1);
      }
      ASSERT_EQ(chunk->contiguous, contiguous);
      for (size_t n = 0; n < keys.size() && !contiguous; ++n) {
        ASSERT_EQ(chunk->k_rows[n], tile.args.k + keys[n] * tile.args.k_stride);
        ASSERT_EQ(chunk->v_rows[n], tile.args.v + keys[n] * tile.args.v_stride);
      }
      for (size_t s = 0; s < chunk->span_count; ++s) {
        const ChunkSpan& span = chunk->spans[s];
        const Segment& segment = *of_key[next + span.begin];
        ASSERT_EQ(&segment, of_key[next + span.end - 1]) << "a span is of one segment";
        ASSERT_EQ(span.kind, segment.kind);
        ASSERT_EQ(span.bits, segment.kind == SegmentKind::kBits
                                 ? tile.args.lane_bits + segment.bits + span.key - segment.begin
                                 : nullptr);
      }
      next += keys.size();
      ASSERT_TRUE(next == listed.size() || cell(listed[next]) > cell(keys[0]));
    }
    ASSERT_EQ(next, listed.size());
  }
}

}  // namespace
}  // namespace skipattn::internal
