// KeyPrefetcher: which row of k each row of v brings along. Addresses are compared, never followed.
#include "kernels/key_prefetch.h"

#include <gtest/gtest.h>

#include <vector>

#include "kernels/rows.h"

namespace skipattn::internal {
namespace {

constexpr SegmentKind kFull = SegmentKind::kFull;
constexpr size_t kDim = 8;

/// A tile of segments whose row j of k is at k + 8 j.
class FakeTile {
 public:
  explicit FakeTile(std::vector<Segment> segments) : segments_(std::move(segments)) {
    args.segments = segments_.data();
    args.segment_count = segments_.size();
    args.dim = args.v_dim = kDim;
    args.k = memory_.data();
    args.v = memory_.data() + memory_.size() / 2;
    args.k_stride = args.v_stride = kDim;
  }
  TileArgs args = {};

 private:
  std::vector<Segment> segments_;
  std::vector<float> memory_ = std::vector<float>(2 * 1000 * kDim);
};

/// The key whose k comes with listed key n of the chunk that has begun.
int64_t AheadOf(const KeyPrefetcher& ahead, const TileArgs& tile, size_t n) {
  const auto rows = ahead.With(StridedRows{tile.v, tile.v_stride});
  EXPECT_EQ(rows.floats, kDim);
  EXPECT_LE(n, rows.last);
  return (rows.ahead[n] - tile.k) / static_cast<int64_t>(kDim);
}

TEST(KeyPrefetchTest, BringsTheNextChunk) {
  const FakeTile tile({{100, 110, kFull, 0}, {120, 300, kFull, 0}});
  KeyPrefetcher ahead(tile.args, 0);
  ahead.Begin(16);  // keys 100..109 and 120..127
  EXPECT_EQ(AheadOf(ahead, tile.args, 0), 128);
  EXPECT_EQ(AheadOf(ahead, tile.args, 17), 145);
  ahead.Begin(16);  // 128..255; the next one has 44 keys
  EXPECT_EQ(AheadOf(ahead, tile.args, 0), 256);
  EXPECT_EQ(AheadOf(ahead, tile.args, 43), 299);
  EXPECT_EQ(ahead.With(StridedRows{}).last, 43u);
  for (int n = 0; n < 100; ++n) ahead.Step();  // more than there are
}

TEST(KeyPrefetchTest, BringsTheNextChunkOfAPart) {
  FakeTile tile({{0, 600, kFull, 0}});
  float state = 0;
  tile.args.states = &state;
  tile.args.chunk_begin = 2;
  tile.args.chunk_end = 4;
  KeyPrefetcher ahead(tile.args, 0);
  ahead.Begin(16);  // chunk 2
  EXPECT_EQ(AheadOf(ahead, tile.args, 0), 3 * kChunk);
}

TEST(KeyPrefetchTest, BringsTheNextTileAtTheEnd) {
  FakeTile tile({{0, 50, kFull, 0}}), next({{7, 27, kFull, 0}});
  const float* q = next.args.k;
  float out[kDim];
  float* const out_row = out;
  next.args.q = &q;
  next.args.out = &out_row;
  next.args.rows = 1;
  tile.args.next = &next.args;
  tile.args.next_keys = true;
  KeyPrefetcher ahead(tile.args, 0);
  ahead.Begin(16);
  EXPECT_EQ(AheadOf(ahead, next.args, 0), 7);
  EXPECT_EQ(AheadOf(ahead, next.args, 19), 26);
  EXPECT_EQ(ahead.With(StridedRows{}).last, 19u);
  tile.args.next_keys = false;  // nothing new to fetch: the own v again
  KeyPrefetcher none(tile.args, 0);
  none.Begin(16);
  EXPECT_EQ(none.With(StridedRows{}).last, 0u);
  EXPECT_EQ(none.With(StridedRows{}).ahead[0], tile.args.v);
}

}  // namespace
}  // namespace skipattn::internal
