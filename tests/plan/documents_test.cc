// Documents: which queries and keys belong together, against the ids of every pair.
#include "plan/documents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::SizesOf;
using Ids = std::vector<int64_t>;

DocumentSplit Split(const Problem& problem, const Mask& mask, int64_t b = 0) {
  return SplitDocuments(problem, mask.terms()->terms, b, {{0, problem.k_len}});
}

Mask DocumentsOf(const Ids& q, const Ids& k, int64_t batch = 1) {
  const int64_t tq = static_cast<int64_t>(q.size()) / batch;
  const int64_t tk = static_cast<int64_t>(k.size()) / batch;
  return mask::Documents(ConstTensor(q.data(), {batch, tq}), ConstTensor(k.data(), {batch, tk}));
}

/// The keys of query i's document.
Runs KeysOf(const DocumentSplit& split, size_t i) {
  const int32_t document = split.of_query.at(i);
  return document < 0 ? Runs() : split.keys.at(static_cast<size_t>(document));
}

TEST(DocumentsTest, WithoutTermsEverythingIsOneDocument) {
  const DocumentSplit split = SplitDocuments(SizesOf(1, 1, 1, 3, 9), {}, 0, {{1, 2}, {4, 9}});
  EXPECT_TRUE(split.of_query.empty());
  EXPECT_EQ(split.keys, (std::vector<Runs>{{{1, 2}, {4, 9}}}));
}

TEST(DocumentsTest, IdsOfPackedDocuments) {
  const Ids q = {7, 7, 3, 3, 3}, k = {7, 7, 7, 3, 3, 9};
  const DocumentSplit split = Split(SizesOf(1, 1, 1, 5, 6), DocumentsOf(q, k));
  EXPECT_EQ(KeysOf(split, 0), (Runs{{0, 3}}));
  EXPECT_EQ(KeysOf(split, 2), (Runs{{3, 5}}));
  EXPECT_EQ(split.of_query[0], split.of_query[1]);
  EXPECT_NE(split.of_query[1], split.of_query[2]);
}

TEST(DocumentsTest, InterleavedIds) {
  const Ids q = {1, 0, 1, 0}, k = {0, 1, 0, 1, 1};
  const DocumentSplit split = Split(SizesOf(1, 1, 1, 4, 5), DocumentsOf(q, k));
  EXPECT_EQ(KeysOf(split, 0), (Runs{{1, 2}, {3, 5}}));
  EXPECT_EQ(KeysOf(split, 1), (Runs{{0, 1}, {2, 3}}));
  EXPECT_EQ(split.of_query[0], split.of_query[2]);
}

TEST(DocumentsTest, NegativeIdsBelongToNoDocument) {
  const int64_t least = std::numeric_limits<int64_t>::min();
  const Ids q = {-1, 0, least, -2}, k = {-1, 0, -2, least};
  const DocumentSplit split = Split(SizesOf(1, 1, 1, 4, 4), DocumentsOf(q, k));
  EXPECT_EQ(split.of_query, (std::vector<int32_t>{-1, 0, -1, -1}));
  EXPECT_EQ(KeysOf(split, 1), (Runs{{1, 2}}));
}

TEST(DocumentsTest, AQueryWhoseDocumentHasNoKeys) {
  const Ids q = {5, 6}, k = {6, 4};
  const DocumentSplit split = Split(SizesOf(1, 1, 1, 2, 2), DocumentsOf(q, k));
  EXPECT_EQ(KeysOf(split, 0), Runs());
  EXPECT_EQ(KeysOf(split, 1), (Runs{{0, 1}}));
}

TEST(DocumentsTest, OnlyTheGivenKeysCount) {
  const Ids q = {0}, k = {0, 0, 1, 0, 0, 0};
  const Mask mask = DocumentsOf(q, k);
  const DocumentSplit split =
      SplitDocuments(SizesOf(1, 1, 1, 1, 6), mask.terms()->terms, 0, {{1, 3}, {5, 6}});
  EXPECT_EQ(KeysOf(split, 0), (Runs{{1, 2}, {5, 6}}));
}

TEST(DocumentsTest, EachBatchEntryHasItsOwnIds) {
  const Ids q = {0, 1}, k = {0, 1, 1, 1};
  const Mask mask = DocumentsOf(q, k, 2);
  const Problem problem = SizesOf(2, 1, 1, 1, 2);
  EXPECT_EQ(KeysOf(Split(problem, mask, 0), 0), (Runs{{0, 1}}));
  EXPECT_EQ(KeysOf(Split(problem, mask, 1), 0), (Runs{{0, 2}}));
}

TEST(DocumentsTest, BoundariesWithEmptyDocuments) {
  // Documents 0 and 2 have no queries, 1 has no keys, 4 and 5 have neither.
  const Ids q = {0, 0, 2, 2, 5, 5, 5}, k = {0, 3, 3, 4, 8, 8, 8};
  const DocumentSplit split = Split(SizesOf(1, 1, 1, 5, 8), mask::DocumentsFromBoundaries(q, k));
  EXPECT_EQ(KeysOf(split, 0), Runs());
  EXPECT_EQ(KeysOf(split, 1), Runs());
  for (size_t i = 2; i < 5; ++i) EXPECT_EQ(KeysOf(split, i), (Runs{{4, 8}})) << i;
}

TEST(DocumentsTest, SeveralTermsMustAllAgree) {
  const Ids q1 = {0, 0, 1, 1}, k1 = {0, 0, 0, 1, 1, 1};
  const Ids q2 = {5, 6, 5, -1}, k2 = {5, 6, 5, 6, 5, -1};
  const DocumentSplit split =
      Split(SizesOf(1, 1, 1, 4, 6), DocumentsOf(q1, k1) & DocumentsOf(q2, k2));
  EXPECT_EQ(KeysOf(split, 0), (Runs{{0, 1}, {2, 3}}));
  EXPECT_EQ(KeysOf(split, 1), (Runs{{1, 2}}));
  EXPECT_EQ(KeysOf(split, 2), (Runs{{4, 5}}));
  EXPECT_EQ(split.of_query[3], -1);
}

TEST(DocumentsTest, RandomTermsAgainstEveryPair) {
  using test::TermKind;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    test::Rng rng(seed);
    const Problem problem = test::RandomSizes(rng, 70);
    std::vector<TermKind> kinds(static_cast<size_t>(test::Uniform(rng, 1, 3)));
    for (TermKind& kind : kinds) {
      kind =
          problem.batch == 1 && test::OneIn(rng, 2) ? TermKind::kBoundaries : TermKind::kDocuments;
    }
    const test::RandomMask random(rng, problem, kinds);
    SCOPED_TRACE(random.text);
    if (problem.q_len == 0) continue;
    for (int64_t b = 0; b < problem.batch; ++b) {
      const DocumentSplit split = Split(problem, random.mask, b);
      ASSERT_EQ(split.of_query.size(), static_cast<size_t>(problem.q_len));
      for (int64_t i = 0; i < problem.q_len; ++i) {
        Runs expected;
        for (int64_t j = 0; j < problem.k_len; ++j) {
          if (random.Allows(b, 0, i, j)) Append(expected, j, j + 1);
        }
        ASSERT_EQ(KeysOf(split, static_cast<size_t>(i)), expected) << "query " << i;
        const Ids ids = random.DocumentsOf(b, i), first = random.DocumentsOf(b, 0);
        const int32_t document = split.of_query[static_cast<size_t>(i)];
        ASSERT_EQ(document < 0, *std::min_element(ids.begin(), ids.end()) < 0);
        if (document >= 0) {
          ASSERT_EQ(document == split.of_query[0], ids == first);
        }
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
