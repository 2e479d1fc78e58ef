// Dense arrays to bits: strides, shared rows, and planes that are scanned only once.
#include "plan/dense_bits.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::SizesOf;

int64_t scans = 0;       // calls of CountingScan
int64_t last_bytes = 0;  // of the last one

void CountingScan(const uint8_t* bytes, int64_t count, uint64_t* words) {
  ++scans;
  last_bytes = count;
  test::PlainScan(bytes, count, words);
}

DenseView ViewAt(const std::vector<uint8_t>& bytes, int64_t first, int64_t b, int64_t h, int64_t i,
                 int64_t j) {
  return {bytes.data() + first, {b, h, i, j}};
}

/// A matrix as text, one line of 0 and 1 per query.
std::vector<std::string> TextOf(const BitMatrix& matrix) {
  std::vector<std::string> lines;
  for (const int64_t row : matrix.row_of) {
    lines.emplace_back();
    for (int64_t j = 0; j < matrix.keys; ++j) lines.back() += matrix.Row(row).At(j) ? '1' : '0';
  }
  return lines;
}

TEST(DenseBitsTest, EmptyWithoutViews) {
  EXPECT_TRUE(DenseBits(SizesOf(1, 1, 1, 2, 2), {}, CountingScan).empty());
  const std::vector<uint8_t> bytes(4);
  EXPECT_FALSE(
      DenseBits(SizesOf(1, 1, 1, 2, 2), {ViewAt(bytes, 0, 0, 0, 2, 1)}, CountingScan).empty());
}

TEST(DenseBitsTest, ReadsContiguousRowsInPlace) {
  const std::vector<uint8_t> bytes = {1, 0, 2, 0, 255, 0};
  scans = 0;
  DenseBits bits(SizesOf(1, 1, 1, 2, 3), {ViewAt(bytes, 0, 0, 0, 3, 1)}, CountingScan);
  EXPECT_EQ(scans, 0) << "nothing is scanned before it is asked for";
  EXPECT_EQ(TextOf(*bits.PlaneOf(0, 0)), (std::vector<std::string>{"101", "010"}));
  EXPECT_EQ(scans, 2);
  EXPECT_EQ(last_bytes, 3);
}

TEST(DenseBitsTest, TransposedAndReversed) {
  const std::vector<uint8_t> bytes = {1, 0, 0,   // key 1 in the reversed view
                                      1, 1, 0};  // key 0
  DenseBits bits(SizesOf(1, 1, 1, 3, 2), {ViewAt(bytes, 3, 0, 0, 1, -3)}, CountingScan);
  EXPECT_EQ(TextOf(*bits.PlaneOf(0, 0)), (std::vector<std::string>{"11", "10", "00"}));
}

TEST(DenseBitsTest, EqualNeighboursShareARow) {
  const std::vector<uint8_t> bytes = {1, 0, 3, 0, 0, 1, 0, 1, 1, 0};
  DenseBits bits(SizesOf(1, 1, 1, 5, 2), {ViewAt(bytes, 0, 0, 0, 2, 1)}, CountingScan);
  const auto plane = bits.PlaneOf(0, 0);
  EXPECT_EQ(plane->row_of, (std::vector<int64_t>{0, 0, 1, 1, 2}));
  EXPECT_EQ(plane->words.size(), 3u);
}

TEST(DenseBitsTest, ViewsAreJoined) {
  const std::vector<uint8_t> a = {1, 1, 0, 0}, b = {1, 0, 1, 0};
  DenseBits bits(SizesOf(1, 1, 1, 2, 2), {ViewAt(a, 0, 0, 0, 0, 1), ViewAt(b, 0, 0, 0, 2, 1)},
                 CountingScan);
  EXPECT_EQ(TextOf(*bits.PlaneOf(0, 0)), (std::vector<std::string>{"10", "10"}));
}

TEST(DenseBitsTest, PlanesThatReadTheSameMemoryAreScannedOnce) {
  const int64_t rows = 4, keys = 4;
  const std::vector<uint8_t> memory(4 * rows * keys, 1);
  const struct {
    int64_t b_stride, h_stride, planes;
  } cases[] = {{0, 0, 1}, {16, 0, 3}, {0, 16, 2}, {16, 16, 4}};
  for (const auto& one : cases) {
    SCOPED_TRACE(std::to_string(one.b_stride) + " " + std::to_string(one.h_stride));
    DenseBits bits(SizesOf(3, 2, 2, rows, keys),
                   {ViewAt(memory, 0, one.b_stride, one.h_stride, keys, 1)}, CountingScan);
    scans = 0;
    for (int repeat = 0; repeat < 2; ++repeat) {
      for (int64_t b = 0; b < 3; ++b) {
        for (int64_t h = 0; h < 2; ++h) bits.PlaneOf(b, h);
      }
    }
    EXPECT_EQ(scans, one.planes * rows);
    EXPECT_EQ(bits.PlaneOf(0, 0) == bits.PlaneOf(2, 0), one.b_stride == 0);
    EXPECT_EQ(bits.PlaneOf(1, 0) == bits.PlaneOf(1, 1), one.h_stride == 0);
  }
}

TEST(DenseBitsTest, NoKeysAndNoQueries) {
  const std::vector<uint8_t> bytes(1);
  DenseBits no_keys(SizesOf(1, 1, 1, 3, 0), {ViewAt(bytes, 0, 0, 0, 1, 1)}, CountingScan);
  EXPECT_EQ(no_keys.PlaneOf(0, 0)->row_of, (std::vector<int64_t>{0, 0, 0}));
  DenseBits no_queries(SizesOf(1, 1, 1, 0, 3), {ViewAt(bytes, 0, 0, 0, 1, 1)}, CountingScan);
  EXPECT_TRUE(no_queries.PlaneOf(0, 0)->row_of.empty());
}

TEST(DenseBitsTest, RandomArraysOfAnyStrides) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, 140);
    std::vector<test::RandomArray<bool>> arrays;
    std::vector<DenseView> views;
    for (int64_t n = test::Uniform(rng, 1, 3); n > 0; --n) {
      const int64_t sizes[4] = {problem.batch, problem.heads, problem.q_len, problem.k_len};
      arrays.emplace_back(rng, std::vector<int64_t>(sizes, sizes + 4), true);
      const int64_t zeros = test::PickOf(rng, {2, 20, 1000});  // one element in so many
      test::RandomArray<bool>& array = arrays.back();
      for (int64_t b = 0; b < problem.batch; ++b) {
        for (int64_t h = 0; h < problem.heads; ++h) {
          for (int64_t i = 0; i < problem.q_len; ++i) {
            for (int64_t j = 0; j < problem.k_len; ++j) {
              array.Set(rng, {b, h, i, j}, !test::OneIn(rng, zeros));
            }
          }
        }
      }
      const int64_t* stride = array.view.stride;
      views.push_back({static_cast<const uint8_t*>(array.view.data),
                       {stride[0], stride[1], stride[2], stride[3]}});
    }
    DenseBits bits(problem, views, test::PlainScan);
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t h = 0; h < problem.heads; ++h) {
        const auto plane = bits.PlaneOf(b, h);
        for (int64_t i = 0; i < problem.q_len; ++i) {
          const BitRow row = plane->Row(plane->row_of.at(static_cast<size_t>(i)));
          for (int64_t j = 0; j < problem.k_len; ++j) {
            bool expected = true;
            for (const auto& array : arrays) expected = expected && array.At({b, h, i, j});
            ASSERT_EQ(row.At(j), expected) << b << " " << h << " " << i << " " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
