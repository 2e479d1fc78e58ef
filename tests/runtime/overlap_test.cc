#include "runtime/overlap.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Addresses are looked at, never followed.
const char* const kBase = reinterpret_cast<const char*>(uintptr_t{1} << 40);

ConstTensor View(int64_t element, std::vector<int64_t> shape, std::vector<int64_t> stride) {
  ConstTensor view;
  view.data = kBase + 4 * element;
  view.rank = static_cast<int>(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    view.shape[axis] = shape[axis];
    view.stride[axis] = stride[axis];
  }
  return view;
}

std::vector<int64_t> Elements(const ConstTensor& view) {
  std::vector<int64_t> elements = {(static_cast<const char*>(view.data) - kBase) / 4};
  for (int axis = 0; axis < view.rank; ++axis) {
    std::vector<int64_t> longer;
    for (const int64_t at : elements) {
      for (int64_t n = 0; n < view.shape[axis]; ++n) longer.push_back(at + n * view.stride[axis]);
    }
    elements = longer;
  }
  return elements;
}

TEST(OverlapTest, SeparateBuffersAreApart) {
  const ConstTensor a = View(0, {2, 3, 4, 5}, {60, 20, 5, 1});
  EXPECT_FALSE(MayOverlap(a, View(120, {2, 3, 4, 5}, {60, 20, 5, 1})));
  EXPECT_TRUE(MayOverlap(a, View(119, {2, 3, 4, 5}, {60, 20, 5, 1})));
  EXPECT_FALSE(MayOverlap(View(120, {4}, {1}), a));
  EXPECT_TRUE(MayOverlap(View(119, {4}, {1}), a));
}

TEST(OverlapTest, NegativeStridesReachBackwards) {
  const ConstTensor back = View(9, {10}, {-1});
  EXPECT_TRUE(MayOverlap(back, View(0, {1}, {1})));
  EXPECT_FALSE(MayOverlap(back, View(10, {5}, {1})));
  EXPECT_FALSE(MayOverlap(View(9, {5}, {-1}), View(4, {5}, {-1})));
}

TEST(OverlapTest, NothingOverlapsAnEmptyView) {
  const ConstTensor empty = View(0, {2, 0}, {1, 1});
  EXPECT_FALSE(MayOverlap(empty, View(0, {4}, {1})));
  EXPECT_FALSE(MayOverlap(View(0, {4}, {1}), empty));
  EXPECT_FALSE(MayOverlapItself(View(0, {2, 0}, {0, 1})));
}

TEST(OverlapTest, SlicesOfAPackedBufferAreApart) {
  const int64_t B = 2, T = 7, H = 3, D = 8;
  for (const int64_t capacity : {T, T + 2}) {  // with room after the last position, too
    for (int64_t slice = 0; slice < 4; ++slice) {
      // [B, T, 4, H, D], [B, 4, T, H, D] and [B, T, H, 4, D], all addressed {B, H, T, D}.
      const ConstTensor slices[][2] = {
          {View(0, {B, H, T, D}, {capacity * 4 * H * D, D, 4 * H * D, 1}),
           View(slice * H * D, {B, H, T, D}, {capacity * 4 * H * D, D, 4 * H * D, 1})},
          {View(0, {B, H, T, D}, {4 * capacity * H * D, D, H * D, 1}),
           View(slice * capacity * H * D, {B, H, T, D}, {4 * capacity * H * D, D, H * D, 1})},
          {View(0, {B, H, T, D}, {capacity * 4 * H * D, 4 * D, 4 * H * D, 1}),
           View(slice * D, {B, H, T, D}, {capacity * 4 * H * D, 4 * D, 4 * H * D, 1})}};
      for (const auto& [a, b] : slices) {
        EXPECT_EQ(MayOverlap(a, b), slice == 0);
        EXPECT_EQ(MayOverlap(b, a), slice == 0);
        EXPECT_FALSE(MayOverlapItself(b));
      }
    }
  }
}

TEST(OverlapTest, GroupedHeadsInOneBuffer) {
  // [T, 4 query heads | 2 key heads | 2 value heads | 4 output heads, D]
  const int64_t T = 5, D = 4, row = 12 * D;
  const ConstTensor q = View(0, {1, 4, T, D}, {0, D, row, 1});
  const ConstTensor v = View(6 * D, {1, 2, T, D}, {0, D, row, 1});
  const ConstTensor out = View(8 * D, {1, 4, T, D}, {0, D, row, 1});
  EXPECT_FALSE(MayOverlap(out, q));
  EXPECT_FALSE(MayOverlap(out, v));
  EXPECT_TRUE(MayOverlap(View(7 * D, {1, 4, T, D}, {0, D, row, 1}), v));
}

TEST(OverlapTest, AViewMayCoincideWithItself) {
  EXPECT_TRUE(MayOverlapItself(View(0, {2, 3}, {0, 1})));
  EXPECT_TRUE(MayOverlapItself(View(0, {2, 3}, {2, 1})));
  EXPECT_TRUE(MayOverlapItself(View(0, {2, 3}, {1, 1})));
  EXPECT_TRUE(MayOverlapItself(View(0, {2, 3}, {-1, 1})));
  EXPECT_FALSE(MayOverlapItself(View(0, {2, 3}, {3, 1})));
  EXPECT_FALSE(MayOverlapItself(View(0, {2, 3}, {-3, 1})));
  EXPECT_FALSE(MayOverlapItself(View(0, {2, 3}, {1, 2})));
  EXPECT_FALSE(MayOverlapItself(View(0, {1, 3}, {0, 1})));  // nothing to coincide with
}

TEST(OverlapTest, HugeSizesAndStridesDoNotOverflow) {
  const int64_t big = int64_t{1} << 62, size = int64_t{1} << 59;
  const ConstTensor a = View(0, {size, 2, 1, 1}, {big, 1, 1, 1});
  EXPECT_FALSE(MayOverlapItself(a));
  EXPECT_TRUE(MayOverlap(a, a));
  EXPECT_TRUE(MayOverlap(View(0, {size, 1}, {-big, 1}), View(0, {size, 1}, {INT64_MIN, 1})));
}

// Every verdict "apart" on small random views is compared with the elements themselves.
TEST(OverlapTest, NeverMissesAnOverlap) {
  const uint64_t seed = 20240817;
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 rng(seed);
  const auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(rng() % static_cast<uint64_t>(most - least + 1));
  };
  const auto random_view = [&] {
    std::vector<int64_t> shape, stride;
    for (int64_t axes = pick(1, 3); axes > 0; --axes) {
      shape.push_back(pick(0, 4));
      stride.push_back(pick(-12, 12));
    }
    return View(pick(-20, 20), shape, stride);
  };
  int apart = 0;
  for (int n = 0; n < 20000; ++n) {
    const ConstTensor a = random_view(), b = random_view();
    const std::vector<int64_t> in_a = Elements(a), in_b = Elements(b);
    const std::set<int64_t> set_a(in_a.begin(), in_a.end());
    bool meet = false;
    for (const int64_t element : in_b) meet = meet || set_a.count(element) > 0;
    ASSERT_TRUE(!meet || MayOverlap(a, b));
    ASSERT_TRUE(set_a.size() == in_a.size() || MayOverlapItself(a));
    apart += MayOverlap(a, b) ? 0 : 1;
  }
  EXPECT_GT(apart, 5000);
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
