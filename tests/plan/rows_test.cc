// Mask terms to rows, against the predicate of each term.
#include "plan/rows.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "plan/check_mask.h"
#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::FloorMod;
using test::PlainScan;
using test::RandomMask;
using test::Rng;
using test::SizesOf;

PlaneRows CompileOne(const Problem& problem, const Mask& mask,
                     const std::vector<int64_t>& key_origin = {}) {
  return RowCompiler(problem, mask, key_origin, PlainScan).Compile(0, 0);
}

/// The keys that a compiled row attends, found one by one.
Runs KeysOf(const PlaneRows& plane, const LiveRow& row) {
  Runs keys;
  const Runs& set = plane.sets.at(static_cast<size_t>(row.set));
  for (int64_t j = row.lo; j < row.hi; ++j) {
    const auto run = FirstAfter(set, j);
    const bool in_set = run != set.end() && run->begin <= j;
    if (in_set && (row.bits < 0 || plane.bits->Row(row.bits).At(j))) Append(keys, j, j + 1);
  }
  return keys;
}

/// Compares one plane with the predicate. `key_origin` empty = found from the mask.
void ExpectPlane(const PlaneRows& plane, const Problem& problem, const RandomMask& random,
                 const std::vector<int64_t>& key_origin, int64_t b, int64_t h) {
  const std::vector<int64_t> origins = random.Origins(b, h);
  std::vector<int> found(static_cast<size_t>(problem.q_len));
  size_t next = 0;
  for (const RowGroup& group : plane.groups) {
    ASSERT_EQ(group.begin, next);
    ASSERT_LT(group.begin, group.end);
    next = group.end;
    for (size_t r = group.begin; r < group.end; ++r) {
      const LiveRow& row = plane.rows.at(r);
      SCOPED_TRACE("query " + std::to_string(row.query));
      ASSERT_TRUE(r == group.begin || plane.rows[r - 1].query < row.query);
      ++found.at(static_cast<size_t>(row.query));
      Runs expected;
      for (int64_t j = 0; j < problem.k_len; ++j) {
        if (random.Allows(b, h, row.query, j)) Append(expected, j, j + 1);
      }
      ASSERT_FALSE(expected.empty()) << "not a live row";
      ASSERT_EQ(KeysOf(plane, row), expected);
      ASSERT_EQ(row.lo, expected.front().begin);
      ASSERT_EQ(row.hi, expected.back().end);
      ASSERT_TRUE(expected.size() > 1 || row.bits == -1) << "one run needs no bits";
      int64_t origin = origins[static_cast<size_t>(row.query)];
      if (!key_origin.empty()) {
        origin = key_origin[key_origin.size() > 1 ? static_cast<size_t>(b) : 0];
      }
      ASSERT_EQ(group.origin, FloorMod(origin, kChunk));
    }
  }
  ASSERT_EQ(next, plane.rows.size());

  Runs empty;
  for (int64_t i = 0; i < problem.q_len; ++i) {
    bool live = false;
    for (int64_t j = 0; j < problem.k_len && !live; ++j) live = random.Allows(b, h, i, j);
    ASSERT_EQ(found[static_cast<size_t>(i)], live ? 1 : 0) << "query " << i;
    if (!live) Append(empty, i, i + 1);
  }
  ASSERT_EQ(plane.empty_rows, empty);
}

void ExpectRows(const Problem& problem, const RandomMask& random,
                const std::vector<int64_t>& key_origin) {
  SCOPED_TRACE(random.text);
  const Status status = CheckMask(problem, random.mask);
  ASSERT_TRUE(status.ok()) << status.message();
  RowCompiler compiler(problem, random.mask, key_origin, PlainScan);
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.heads; ++h) {
      SCOPED_TRACE("batch entry " + std::to_string(b) + ", head " + std::to_string(h));
      // The plane that a plan would use for (b, h).
      const PlaneRows plane =
          compiler.Compile(compiler.per_batch() ? b : 0, compiler.per_head() ? h : 0);
      ASSERT_NO_FATAL_FAILURE(ExpectPlane(plane, problem, random, key_origin, b, h));
    }
  }
}

TEST(RowsTest, EachTermAlone) {
  for (const test::TermKind kind : test::kTermKinds) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Rng rng(seed);
      Problem problem = test::RandomSizes(rng, 80);
      if (kind == test::TermKind::kPadding) problem.q_len = problem.k_len;
      if (kind == test::TermKind::kBoundaries) problem.batch = 1;
      ASSERT_NO_FATAL_FAILURE(ExpectRows(problem, RandomMask(rng, problem, {kind}), {}));
    }
  }
}

TEST(RowsTest, RandomConjunctions) {
  for (uint64_t seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, seed % 8 == 0 ? 200 : 70);
    ASSERT_NO_FATAL_FAILURE(ExpectRows(problem, RandomMask(rng, problem), {}));
  }
}

TEST(RowsTest, KeyOriginDecidesWhereGiven) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, 40);
    std::vector<int64_t> origin(static_cast<size_t>(test::OneIn(rng, 2) ? 1 : problem.batch));
    for (int64_t& one : origin) {
      one = test::PickOf(rng, {0, -1, 127, 128, -128, 1000, std::numeric_limits<int64_t>::min(),
                               std::numeric_limits<int64_t>::max()});
    }
    ASSERT_NO_FATAL_FAILURE(ExpectRows(problem, RandomMask(rng, problem), origin));
  }
}

TEST(RowsTest, NoMask) {
  const PlaneRows plane = CompileOne(SizesOf(1, 1, 1, 3, 5), Mask());
  ASSERT_EQ(plane.rows.size(), 3u);
  EXPECT_EQ(plane.rows[2].lo, 0);
  EXPECT_EQ(plane.rows[2].hi, 5);
  EXPECT_EQ(plane.groups.size(), 1u);
  EXPECT_TRUE(plane.empty_rows.empty());
}

TEST(RowsTest, WithoutKeysAllRowsAreEmpty) {
  const PlaneRows plane = CompileOne(SizesOf(1, 1, 1, 3, 0), Mask());
  EXPECT_TRUE(plane.rows.empty());
  EXPECT_EQ(plane.empty_rows, (Runs{{0, 3}}));
}

TEST(RowsTest, OriginIsTheFirstKeyOfTheSequenceNotOfTheWindow) {
  const std::vector<int64_t> begin = {5}, end = {300};
  const Mask text = mask::KeyRange(begin, end);
  const Problem square = SizesOf(1, 1, 1, 300, 300);
  for (const Mask& mask : {text, text & mask::Causal(), text & mask::Window(3, 0)}) {
    EXPECT_EQ(CompileOne(square, mask).groups.at(0).origin, 5);
  }
  // A row of a later decoding step has the grid that it had in the prefill.
  const PlaneRows step =
      CompileOne(SizesOf(1, 1, 1, 1, 300), text & mask::Window(3, 0, mask::Align::kBottomRight));
  EXPECT_EQ(step.groups.at(0).origin, 5);
  EXPECT_EQ(step.rows.at(0).lo, 296);
}

TEST(RowsTest, OriginCountsRowsThatTheBandLeavesEmpty) {
  // Query 0 could see key 2 but for the causal mask; the rows after it share its grid.
  const std::vector<uint8_t> dense = {0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
  const Mask mask = mask::Dense(ConstTensor(dense.data(), DType::kBool, {4, 4}), "qk");
  const PlaneRows plane = CompileOne(SizesOf(1, 1, 1, 4, 4), mask & mask::Causal());
  ASSERT_EQ(plane.rows.size(), 1u);
  EXPECT_EQ(plane.rows[0].query, 3);
  EXPECT_EQ(plane.groups.at(0).origin, 2);
}

TEST(RowsTest, OriginDoesNotCountExcludedQueries) {
  const std::vector<uint8_t> dense = {1, 1, 0, 1};
  const std::vector<int64_t> begin = {1}, end = {2};
  const Mask mask = mask::Dense(ConstTensor(dense.data(), DType::kBool, {2, 2}), "qk");
  const Problem problem = SizesOf(1, 1, 1, 2, 2);
  EXPECT_EQ(CompileOne(problem, mask).groups.at(0).origin, 0);
  EXPECT_EQ(CompileOne(problem, mask & mask::QueryRange(begin, end)).groups.at(0).origin, 1);
}

TEST(RowsTest, OriginOfEachDocumentIsItsOwn) {
  const std::vector<int64_t> q = {0, 2, 4}, k = {0, 130, 300};
  const PlaneRows plane = CompileOne(SizesOf(1, 1, 1, 4, 300), mask::DocumentsFromBoundaries(q, k));
  ASSERT_EQ(plane.groups.size(), 2u);
  EXPECT_EQ(plane.groups[0].origin, 0);
  EXPECT_EQ(plane.groups[1].origin, 130 - 128);
}

TEST(RowsTest, OriginLeavesOutTheBandsOfTheTopOnly) {
  const std::vector<int64_t> begin = {3}, end = {300}, prefix = {7};
  const Mask text = mask::KeyRange(begin, end);
  const Problem step = SizesOf(1, 1, 1, 1, 300);
  const auto origin = [&](const Mask& mask) { return CompileOne(step, mask).groups.at(0).origin; };
  EXPECT_EQ(origin(text & mask::PrefixCausal(prefix, 200)), 3);
  EXPECT_EQ(origin(text & mask::Window(10, 0, 100)), 3);
  // Under "or" and "not" a band is taken as it is: the first key that it allows is 90.
  EXPECT_EQ(origin(text & ~~mask::Window(10, 0, 100)), 3) << "twice not is the term itself";
  EXPECT_EQ(origin(text & (mask::Window(10, 0, 100) | mask::Window(5, 0, 100))), 90);
  EXPECT_EQ(origin(text & ~(~mask::Window(10, 0, 100) | mask::Causal(50))), 90);
  // What "and" leaves out is out of the tree's rows as well.
  EXPECT_EQ(origin(text & mask::Causal(95) & ~mask::Causal(80)), 81);
}

TEST(RowsTest, OriginOfADocumentThatIsNotAtTheTopIsThatOfAllRows) {
  const std::vector<int64_t> cuts = {0, 130, 300};
  const Mask documents = mask::DocumentsFromBoundaries(cuts, cuts);
  const std::vector<int64_t> none = {0};
  const PlaneRows plane =
      CompileOne(SizesOf(1, 1, 1, 300, 300), documents | mask::KeyLengths(none));
  ASSERT_EQ(plane.groups.size(), 1u);
  EXPECT_EQ(plane.groups[0].origin, 0);
  EXPECT_EQ(plane.rows.at(200).lo, 130);
}

TEST(RowsTest, RowsOfOneRunAreIntervalsWhateverTheTree) {
  const std::vector<int64_t> sink = {4};
  const Problem square = SizesOf(1, 1, 1, 200, 200);
  for (const Mask& mask : {mask::KeyLengths(sink) | mask::Causal(), ~mask::Window(0, -1),
                           mask::Causal() & ~mask::Window(-1, 0, -5),
                           mask::Function([](auto, auto, auto i, auto j) { return j <= i; })}) {
    const PlaneRows plane = CompileOne(square, mask);
    EXPECT_GT(plane.rows.size(), 100u);
    for (const LiveRow& row : plane.rows) {
      ASSERT_EQ(row.set, 0);
      ASSERT_EQ(row.bits, -1);
    }
    EXPECT_EQ(plane.sets.size(), 1u);
  }
}

TEST(RowsTest, RowsOfABlockShareASet) {
  std::vector<uint8_t> blocks(10 * 10);
  for (size_t n = 0; n < blocks.size(); ++n) blocks[n] = n * 7 % 3 == 0;
  const PlaneRows plane =
      CompileOne(SizesOf(1, 1, 1, 640, 640),
                 mask::Blocks(ConstTensor(blocks.data(), DType::kBool, {10, 10}), "qk", 64, 64) &
                     mask::Causal());
  EXPECT_LE(plane.sets.size(), 11u);
  for (const LiveRow& row : plane.rows) ASSERT_EQ(row.bits, -1);
}

TEST(RowsTest, AFunctionIsNotAskedAboutWhatTheBandsLeaveOut) {
  int64_t calls = 0;
  const Mask function = mask::Function([&](auto, auto, auto i, auto j) {
    ++calls;
    return (i + j) % 3 != 0;
  });
  const int64_t length = 3000;
  CompileOne(SizesOf(1, 1, 1, length, length), mask::Window(20, 0) & function);
  EXPECT_LT(calls, 30 * length);
  calls = 0;
  CompileOne(SizesOf(1, 1, 1, length, length), mask::Window(20, 0) & function, {0});
  EXPECT_LE(calls, 21 * length);  // no origin to look for
}

TEST(RowsTest, PlanesAreSharedWhereTheMaskCannotTellThemApart) {
  const Problem problem = SizesOf(2, 2, 1, 3, 3);
  const std::vector<uint8_t> bytes(36, 1);
  const std::vector<int64_t> two = {1, 2};
  const auto dense = [&](std::initializer_list<int64_t> shape, const char* axes) {
    return mask::Dense(ConstTensor(bytes.data(), DType::kBool, shape), axes);
  };
  const auto blocks = [&](std::initializer_list<int64_t> shape, const char* axes) {
    return mask::Blocks(ConstTensor(bytes.data(), DType::kBool, shape), axes, 2, 2);
  };
  const struct {
    Mask mask;
    bool per_batch, per_head;
  } cases[] = {{Mask(), false, false},
               {mask::Causal(), false, false},
               {mask::Window(1, 1, 1), false, false},
               {mask::Causal(ConstTensor(two)), true, false},
               {mask::KeyLengths(two), true, false},
               {dense({3, 3}, "qk"), false, false},
               {dense({1, 1, 3, 3}, ""), false, false},
               {dense({2, 3}, "bk"), true, false},
               {dense({2, 3}, "hq"), false, true},
               {dense({2, 2, 3, 3}, "bhqk"), true, true},
               {~mask::Causal() | mask::Window(1, 0), false, false},
               {~(mask::Causal() & ~mask::KeyLengths(two)), true, false},
               {mask::Causal() | ~dense({2, 3}, "hq"), false, true},
               {mask::PrefixCausal(two), true, false},
               {blocks({2, 2}, "qk"), false, false},
               {blocks({2, 2}, "hk"), false, true},
               {~blocks({2, 2}, "bq"), true, false},
               {mask::Function([](auto...) { return true; }), true, true}};
  for (const auto& one : cases) {
    const RowCompiler compiler(problem, one.mask, {}, PlainScan);
    EXPECT_EQ(compiler.per_batch(), one.per_batch) << &one - cases;
    EXPECT_EQ(compiler.per_head(), one.per_head) << &one - cases;
  }
  EXPECT_TRUE(RowCompiler(problem, Mask(), {0, 1}, PlainScan).per_batch());
  EXPECT_FALSE(RowCompiler(problem, Mask(), {7}, PlainScan).per_batch());
}

TEST(RowsTest, ArraysWithoutElementsAreNotRead) {
  for (const int64_t q_len : {0, 3}) {
    const int64_t k_len = 3 - q_len;
    const Problem problem = {1, 2, 2, q_len, k_len, 4, 4};
    const ConstTensor nothing(nullptr, DType::kBool, {2, q_len, k_len});
    const Mask dense = mask::Dense(nothing, "hqk");
    for (const Mask& mask : {dense, ~dense, mask::Blocks(nothing, "hqk", 1, 1)}) {
      RowCompiler compiler(problem, mask, {}, PlainScan);
      const PlaneRows plane = compiler.Compile(0, 1);
      EXPECT_TRUE(plane.rows.empty());
      EXPECT_EQ(plane.empty_rows, q_len > 0 ? Runs({{0, q_len}}) : Runs());
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
