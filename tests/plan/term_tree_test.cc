// Trees of terms, asked row by row, against the predicate.
#include "plan/term_tree.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::OneIn;
using test::PlainScan;
using test::Rng;
using test::SizesOf;
using test::TermKind;
using test::Uniform;

/// A tree and the mask that it borrows from.
struct MaskTree {
  MaskTree(const Problem& problem, const Mask& of)
      : mask(of), tree(problem, mask.terms()->terms, PlainScan) {}

  const Mask mask;
  TermTree tree;
};

Run RandomPart(Rng& rng, int64_t length) {
  const int64_t begin = OneIn(rng, 2) ? 0 : Uniform(rng, 0, length - 1);
  return {begin, OneIn(rng, 2) ? length : Uniform(rng, begin + 1, length)};
}

/// What the predicate says of a row in `within`.
Runs Expected(const test::RandomTerm& random, int64_t b, int64_t h, int64_t i, const Run& within) {
  Runs keys;
  for (int64_t j = within.begin; j < within.end; ++j) {
    if (random.allows(b, h, i, j)) Append(keys, j, j + 1);
  }
  return keys;
}

TEST(TermTreeTest, KeysAndBitsOfRandomTrees) {
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    Problem problem = test::RandomSizes(rng, seed % 10 == 0 ? 200 : 40);
    if (problem.q_len == 0 || problem.k_len == 0) continue;
    const TermKind kind = seed % 8 == 0   ? TermKind::kBlocks
                          : seed % 8 == 1 ? TermKind::kFunction
                                          : TermKind::kTree;
    const test::RandomTerm random = test::MakeRandomTerm(rng, problem, kind);
    SCOPED_TRACE(random.text);
    MaskTree tree_of(problem, random.mask);
    TermTree& tree = tree_of.tree;
    ASSERT_FALSE(tree.empty());
    const int64_t b = Uniform(rng, 0, problem.batch - 1), h = Uniform(rng, 0, problem.heads - 1);
    tree.SelectPlane(0, 0, nullptr);
    tree.SelectPlane(b, h, nullptr);
    Runs last;
    for (int64_t i = 0; i < problem.q_len; ++i) {
      const internal::Run within = RandomPart(rng, problem.k_len);
      const Runs expected = Expected(random, b, h, i, within);
      ASSERT_EQ(tree.KeysOf(i, within), expected) << "query " << i;
      const std::vector<uint64_t> words = tree.BitsOf(i, within);
      ASSERT_EQ(RunsOf({words.data(), problem.k_len}), expected) << "query " << i;
      const Runs all = Expected(random, b, h, i, {0, problem.k_len});
      if (i > 0 && tree.SameKeys(i, i - 1)) {
        ASSERT_EQ(all, last) << "query " << i;
      }
      last = all;
    }
  }
}

TEST(TermTreeTest, APlaneOfBitsIsJoined) {
  const Problem problem = SizesOf(1, 1, 1, 2, 100);
  auto bits = std::make_shared<BitMatrix>();
  bits->keys = 100;
  bits->words = {0xff00ff00ff00ff00u, 0, 0, 0xffffffffu};
  bits->row_of = {0, 1};
  MaskTree tree_of(problem, ~mask::Window(10, 10, 20));
  TermTree& tree = tree_of.tree;
  tree.SelectPlane(0, 0, bits);
  EXPECT_EQ(tree.KeysOf(0, {0, 100}), (Runs{{8, 10}, {31, 32}, {40, 48}, {56, 64}}));
  EXPECT_EQ(tree.KeysOf(1, {0, 100}), (Runs{{64, 96}}));
  EXPECT_EQ(tree.BitsOf(1, {70, 100}), (std::vector<uint64_t>{0, 0xffffffc0u}));
  EXPECT_FALSE(tree.SameKeys(0, 1));
  EXPECT_TRUE(tree.WantsBits(0, {0, 100}));
}

TEST(TermTreeTest, HoldsWhatIsNoIntervalOfAKeySet) {
  const std::vector<int64_t> one = {1};
  const std::vector<uint8_t> bytes(4, 1);
  const ConstTensor square(bytes.data(), DType::kBool, {2, 2});
  const auto holds = [](const Mask& mask) { return TermTree::Holds(mask.terms()->terms.at(0)); };
  EXPECT_TRUE(holds(~mask::Causal()));
  EXPECT_TRUE(holds(mask::Causal() | mask::KeyLengths(one)));
  EXPECT_TRUE(holds(mask::Blocks(square, "qk", 1, 1)));
  EXPECT_TRUE(holds(mask::Function([](auto...) { return true; })));
  EXPECT_FALSE(holds(mask::PrefixCausal(one)));
  EXPECT_FALSE(holds(mask::Dense(square, "qk")));
  EXPECT_TRUE(
      MaskTree(SizesOf(1, 1, 1, 2, 2), mask::Causal() & mask::KeyLengths(one)).tree.empty());
}

TEST(TermTreeTest, RowsOfABlockHaveTheSameKeys) {
  const std::vector<uint8_t> blocks = {1, 0, 1, /**/ 1, 0, 1, /**/ 0, 1, 1};
  MaskTree tree_of(SizesOf(1, 1, 1, 24, 30),
                   mask::Blocks(ConstTensor(blocks.data(), DType::kBool, {3, 3}), "qk", 8, 10));
  TermTree& tree = tree_of.tree;
  tree.SelectPlane(0, 0, nullptr);
  EXPECT_FALSE(tree.slides());
  EXPECT_TRUE(tree.SameKeys(0, 15));  // two equal rows of blocks
  EXPECT_FALSE(tree.SameKeys(15, 16));
  EXPECT_FALSE(tree.WantsBits(0, {0, 30}));
  EXPECT_EQ(tree.KeysOf(16, {0, 30}), (Runs{{10, 30}}));
}

TEST(TermTreeTest, RowsOfManyRunsWantBitsRowsOfFewDoNot) {
  const Problem problem = SizesOf(1, 1, 1, 4, 640);
  std::vector<uint8_t> holes(640);
  for (size_t j = 0; j < holes.size(); ++j) holes[j] = j % 2 == 0;
  const std::vector<int64_t> sink = {4};
  const ConstTensor valid(holes.data(), DType::kBool, {1, 640});
  MaskTree many_of(problem, ~mask::KeyValid(valid));
  TermTree& many = many_of.tree;
  many.SelectPlane(0, 0, nullptr);
  EXPECT_TRUE(many.WantsBits(0, {0, 640}));
  EXPECT_FALSE(many.WantsBits(0, {0, 100})) << "a short part of long rows";
  MaskTree few_of(problem, mask::Window(10, 0, 0) | mask::KeyLengths(sink));
  TermTree& few = few_of.tree;
  few.SelectPlane(0, 0, nullptr);
  EXPECT_TRUE(few.slides());
  EXPECT_FALSE(few.WantsBits(0, {0, 640}));
}

TEST(TermTreeTest, AFunctionIsAskedLastAndAboutWhatIsLeft) {
  std::vector<std::pair<int64_t, int64_t>> asked;
  const Mask function = mask::Function([&](int64_t, int64_t, int64_t i, int64_t j) {
    asked.emplace_back(i, j);
    return true;
  });
  const std::vector<int64_t> begin = {3}, end = {5};
  MaskTree tree_of(SizesOf(1, 1, 1, 4, 100), ~(function & mask::KeyRange(begin, end)));
  TermTree& tree = tree_of.tree;
  tree.SelectPlane(0, 0, nullptr);
  EXPECT_EQ(tree.KeysOf(2, {0, 100}), (Runs{{0, 3}, {5, 100}}));
  EXPECT_EQ(asked, (std::vector<std::pair<int64_t, int64_t>>{{2, 3}, {2, 4}}));
}

TEST(TermTreeTest, AFunctionIsAskedAboutWhatBlocksLeave) {
  const Problem problem = SizesOf(1, 1, 1, 4, 100);
  const std::vector<uint8_t> blocks = {1, 0, 0, 1, 0};
  int64_t calls = 0;
  const Mask function = mask::Function([&](auto...) { return ++calls % 2 == 0; });
  const Mask mask =
      function & mask::Blocks(ConstTensor(blocks.data(), DType::kBool, {5}), "k", 1, 20);
  for (const bool as_bits : {false, true}) {
    TermTree tree(problem, mask.terms()->terms, PlainScan);
    tree.SelectPlane(0, 0, nullptr);
    calls = 0;
    int64_t keys = 0;
    if (as_bits) {
      for (const uint64_t word : tree.BitsOf(0, {5, 100})) keys += __builtin_popcountll(word);
    } else {
      keys = static_cast<int64_t>(tree.KeysOf(0, {5, 100}).size());
    }
    EXPECT_EQ(calls, 15 + 20);
    EXPECT_EQ(keys, 17);
  }
}

}  // namespace
}  // namespace skipattn::internal
