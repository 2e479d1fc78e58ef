// Run lists and bit rows, against loops over single positions.
#include "plan/runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/random_array.h"

namespace skipattn::internal {
namespace {

using test::OneIn;
using test::Rng;
using test::Uniform;

std::vector<bool> RandomBits(Rng& rng, int64_t size) {
  std::vector<bool> bits(static_cast<size_t>(size));
  const int64_t change = test::PickOf(rng, {1, 2, 10, 100});
  bool value = OneIn(rng, 2);
  for (size_t t = 0; t < bits.size(); ++t) {
    if (OneIn(rng, change)) value = OneIn(rng, 2);
    bits[t] = value;
  }
  return bits;
}

Runs RunsOfBits(const std::vector<bool>& bits) {
  Runs runs;
  for (size_t t = 0; t < bits.size(); ++t) {
    if (!bits[t]) continue;
    if (t == 0 || !bits[t - 1]) runs.push_back({static_cast<int64_t>(t), 0});
    runs.back().end = static_cast<int64_t>(t) + 1;
  }
  return runs;
}

std::vector<uint64_t> WordsOf(const std::vector<bool>& bits) {
  std::vector<uint64_t> words(static_cast<size_t>(WordsFor(static_cast<int64_t>(bits.size()))));
  for (size_t t = 0; t < bits.size(); ++t) words[t / 64] |= uint64_t{bits[t]} << (t % 64);
  return words;
}

TEST(RunsTest, AppendJoinsRunsThatTouch) {
  Runs runs;
  Append(runs, 3, 3);
  Append(runs, 5, 2);
  EXPECT_TRUE(runs.empty());
  Append(runs, 0, 2);
  Append(runs, 2, 5);
  Append(runs, 5, 5);
  Append(runs, 6, 7);
  EXPECT_EQ(runs, (Runs{{0, 5}, {6, 7}}));
}

TEST(RunsTest, WordsForRoundsUp) {
  EXPECT_EQ(WordsFor(0), 0);
  EXPECT_EQ(WordsFor(1), 1);
  EXPECT_EQ(WordsFor(64), 1);
  EXPECT_EQ(WordsFor(65), 2);
}

TEST(RunsTest, FirstAfterIsTheFirstRunThatEndsBehindThePosition) {
  const Runs runs = {{2, 4}, {6, 7}, {10, 20}};
  const std::vector<size_t> expected = {0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 2};
  for (size_t at = 0; at < expected.size(); ++at) {
    EXPECT_EQ(FirstAfter(runs, static_cast<int64_t>(at)) - runs.begin(),
              static_cast<int64_t>(expected[at]))
        << at;
  }
  EXPECT_EQ(FirstAfter(runs, 19) - runs.begin(), 2);
  EXPECT_EQ(FirstAfter(runs, 20), runs.end());
  const Runs none;
  EXPECT_EQ(FirstAfter(none, 0), none.end());
}

TEST(RunsTest, IntersectIsTheSetOfCommonPositions) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t size = test::RandomSize(rng, 0, 300);
    const std::vector<bool> a = RandomBits(rng, size), b = RandomBits(rng, size);
    std::vector<bool> both(a.size());
    for (size_t t = 0; t < a.size(); ++t) both[t] = a[t] && b[t];
    ASSERT_EQ(Intersect(RunsOfBits(a), RunsOfBits(b)), RunsOfBits(both));
  }
}

TEST(RunsTest, UniteComplementAndClip) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t size = test::RandomSize(rng, 0, 300);
    const std::vector<bool> a = RandomBits(rng, size), b = RandomBits(rng, size);
    const internal::Run within = {Uniform(rng, 0, size), Uniform(rng, 0, size)};
    std::vector<bool> either(a.size()), others(a.size()), inside(a.size());
    for (size_t t = 0; t < a.size(); ++t) {
      const int64_t at = static_cast<int64_t>(t);
      either[t] = a[t] || b[t];
      others[t] = !a[t];
      inside[t] = a[t] && within.begin <= at && at < within.end;
    }
    Runs found = {{7, 9}};  // is replaced
    Unite(RunsOfBits(a), RunsOfBits(b), found);
    ASSERT_EQ(found, RunsOfBits(either));
    Complement(RunsOfBits(a), {0, size}, found);
    ASSERT_EQ(found, RunsOfBits(others));
    Clip(RunsOfBits(a), within, found);
    ASSERT_EQ(found, RunsOfBits(inside));
    const std::vector<uint64_t> words = WordsOf(a);
    RunsOf({words.data(), size}, within, found);
    ASSERT_EQ(found, RunsOfBits(inside));
  }
}

TEST(RunsTest, UniteJoinsRunsThatTouch) {
  Runs either;
  Unite({{0, 4}, {8, 9}}, {{4, 8}}, either);
  EXPECT_EQ(either, (Runs{{0, 9}}));
}

TEST(RunsTest, IntersectOfRunsThatOnlyTouchIsEmpty) {
  EXPECT_EQ(Intersect({{0, 4}}, {{4, 9}}), Runs());
  EXPECT_EQ(Intersect({{0, 4}, {5, 6}}, {{4, 5}}), Runs());
  EXPECT_EQ(Intersect({{0, 9}}, {}), Runs());
}

TEST(BitRowTest, RunsOfListsTheSetBits) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::vector<bool> bits = RandomBits(rng, test::RandomSize(rng, 0, 300));
    const std::vector<uint64_t> words = WordsOf(bits);
    const BitRow row = {words.data(), static_cast<int64_t>(bits.size())};
    ASSERT_EQ(RunsOf(row), RunsOfBits(bits));
    for (size_t t = 0; t < bits.size(); ++t) ASSERT_EQ(row.At(static_cast<int64_t>(t)), bits[t]);
  }
}

TEST(BitRowTest, SearchesStayInTheirRange) {
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const int64_t size = test::RandomSize(rng, 0, 300);
    const std::vector<bool> bits = RandomBits(rng, size);
    const std::vector<uint64_t> words = WordsOf(bits);
    const BitRow row = {words.data(), size};
    const int64_t begin = Uniform(rng, 0, size);
    const int64_t end = OneIn(rng, 4) ? begin : Uniform(rng, begin, size);
    int64_t set = end, clear = end, end_of_set = begin;
    for (int64_t t = begin; t < end; ++t) {
      const bool bit = bits[static_cast<size_t>(t)];
      if (bit && set == end) set = t;
      if (!bit && clear == end) clear = t;
      if (bit) end_of_set = t + 1;
    }
    ASSERT_EQ(row.FirstSet(begin, end), set) << begin << " to " << end;
    ASSERT_EQ(row.FirstClear(begin, end), clear) << begin << " to " << end;
    ASSERT_EQ(row.EndOfSet(begin, end), end_of_set) << begin << " to " << end;
  }
}

TEST(BitRowTest, RangeWordHasTheBitsOfTheRange) {
  const int64_t ends[] = {0, 1, 31, 62, 63, 64, 65, 100, 127, 128, 129, 191, 192, 200};
  for (const int64_t begin : ends) {
    for (const int64_t end : ends) {
      for (int64_t w = 0; w < 4; ++w) {
        uint64_t expected = 0;
        for (int64_t t = 0; t < 64; ++t) {
          if (begin <= w * 64 + t && w * 64 + t < end) expected |= uint64_t{1} << t;
        }
        ASSERT_EQ(RangeWord(begin, end, w), expected) << begin << " to " << end << " word " << w;
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
