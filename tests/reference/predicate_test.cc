#include "reference/predicate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "plan/check_mask.h"
#include "tests/test_util.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using mask::Align;

constexpr int64_t kBatch = 2, kHeads = 2, kQ = 4, kK = 6;

Problem SomeProblem() {
  Problem problem = test::MakeProblem(kQ, kK, 1);
  problem.batch = kBatch;
  problem.heads = kHeads;
  return problem;
}

using Definition = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

void ExpectMeans(const Problem& p, const Mask& mask, const Definition& definition,
                 const Definition& wide) {
  const Status status = CheckMask(p, mask);
  ASSERT_TRUE(status.ok()) << status.message();
  const Predicate predicate(p, mask);
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t j = 0; j < p.k_len; ++j) {
          SCOPED_TRACE(testing::Message() << "b " << b << " h " << h << " i " << i << " j " << j);
          EXPECT_EQ(predicate.Allows(b, h, i, j), definition(b, h, i, j));
          EXPECT_EQ(predicate.AllowsWide(b, h, i, j), wide(b, h, i, j));
        }
      }
    }
  }
}

void ExpectMeans(const Mask& mask, const Definition& definition) {
  ExpectMeans(SomeProblem(), mask, definition, definition);
}

// Causal and window terms, which count as true for the origin.
void ExpectBand(const Mask& mask, const Definition& definition) {
  ExpectMeans(SomeProblem(), mask, definition, [](auto...) { return true; });
}

// 0 or 1 by a multiplicative hash, as bytes of which any but 0 is true.
std::vector<uint8_t> SomeBools(int64_t count) {
  std::vector<uint8_t> bools;
  for (int64_t n = 0; n < count; ++n) bools.push_back((n * 2654435761u >> 7) % 3 == 0 ? 0 : 7);
  return bools;
}

TEST(PredicateTest, NoMaskAllowsEverything) {
  ExpectMeans({}, [](auto...) { return true; });
}

TEST(PredicateTest, Ranges) {
  const std::vector<int32_t> begin = {1, 3}, end = {4, 2};
  const std::vector<int64_t> lengths = {0, 3};
  ExpectMeans(mask::KeyLengths(lengths),
              [&](auto b, auto, auto, auto j) { return j < lengths[b]; });
  ExpectMeans(mask::QueryLengths(lengths),
              [&](auto b, auto, auto i, auto) { return i < lengths[b]; });
  ExpectMeans(mask::KeyRange(begin, end),
              [&](auto b, auto, auto, auto j) { return begin[b] <= j && j < end[b]; });
  ExpectMeans(mask::QueryRange(begin, end),
              [&](auto b, auto, auto i, auto) { return begin[b] <= i && i < end[b]; });
}

TEST(PredicateTest, ValidPositions) {
  const std::vector<uint8_t> valid = SomeBools(kBatch * kK);
  ExpectMeans(mask::KeyValid(ConstTensor(valid.data(), DType::kBool, {kBatch, kK})),
              [&](auto b, auto, auto, auto j) { return valid[b * kK + j] != 0; });
  ExpectMeans(mask::QueryValid(ConstTensor(valid.data(), DType::kBool, {kBatch, kQ})),
              [&](auto b, auto, auto i, auto) { return valid[b * kQ + i] != 0; });

  Problem square = SomeProblem();
  square.q_len = kK;
  const Definition both = [&](auto b, auto, auto i, auto j) {
    return valid[b * kK + i] != 0 && valid[b * kK + j] != 0;
  };
  ExpectMeans(square, mask::Padding(ConstTensor(valid.data(), DType::kBool, {kBatch, kK})), both,
              both);
}

TEST(PredicateTest, Causal) {
  ExpectBand(mask::Causal(Align::kTopLeft), [](auto, auto, auto i, auto j) { return j <= i; });
  ExpectBand(mask::Causal(Align::kBottomRight),
             [](auto, auto, auto i, auto j) { return j <= i + 2; });
  ExpectBand(mask::Causal(-2), [](auto, auto, auto i, auto j) { return j <= i - 2; });
  const std::vector<int64_t> each = {-1, 3};
  ExpectBand(mask::Causal(ConstTensor(each)),
             [&](auto b, auto, auto i, auto j) { return j <= i + each[b]; });
}

TEST(PredicateTest, Window) {
  for (const int64_t left : {-1, 0, 1, 3}) {
    for (const int64_t right : {-1, 0, 2}) {
      SCOPED_TRACE(testing::Message() << left << " to the left, " << right << " to the right");
      ExpectBand(mask::Window(left, right, 1), [&](auto, auto, auto i, auto j) {
        return (left == -1 || j >= i + 1 - left) && (right == -1 || j <= i + 1 + right);
      });
    }
  }
}

TEST(PredicateTest, OffsetsAndSidesOfAnySize) {
  const auto all = [](auto...) { return true; };
  const auto none = [](auto...) { return false; };
  ExpectBand(mask::Causal(INT64_MAX), all);
  ExpectBand(mask::Causal(INT64_MIN), none);
  ExpectBand(mask::Window(INT64_MAX, INT64_MAX, 0), all);
  ExpectBand(mask::Window(INT64_MAX, 0, INT64_MAX),
             [](auto, auto, auto i, auto j) { return j >= i; });
  ExpectBand(mask::Window(5, INT64_MAX, INT64_MIN),
             [](auto, auto, auto i, auto j) { return j < i; });
}

TEST(PredicateTest, DocumentIds) {
  const std::vector<int32_t> q = {4, -1, 2, 4, /**/ 0, 0, -5, 9};
  const std::vector<int64_t> k = {2, 4, -1, 4, 2, 3, /**/ 0, -5, 9, 9, 0, 1};
  const ConstTensor q_ids(q.data(), {kBatch, kQ}), k_ids(k.data(), {kBatch, kK});
  ExpectMeans(mask::Documents(q_ids, k_ids), [&](auto b, auto, auto i, auto j) {
    return q[b * kQ + i] >= 0 && q[b * kQ + i] == k[b * kK + j];
  });
  const Predicate predicate(SomeProblem(), mask::Documents(q_ids, k_ids));
  EXPECT_EQ(predicate.DocumentOf(0, 0), predicate.DocumentOf(0, 3));
  EXPECT_NE(predicate.DocumentOf(0, 0), predicate.DocumentOf(0, 2));
}

TEST(PredicateTest, DocumentBoundaries) {
  const Problem problem = test::MakeProblem(kQ, kK, 1);
  const std::vector<int64_t> q = {0, 2, 2, 4}, k = {0, 1, 4, 6};  // the second has no query
  const std::vector<int> q_document = {0, 0, 2, 2}, k_document = {0, 1, 1, 1, 2, 2};
  const Definition same = [&](auto, auto, auto i, auto j) {
    return q_document[i] == k_document[j];
  };
  ExpectMeans(problem, mask::DocumentsFromBoundaries(q, k), same, same);
}

// Every pattern of full and single axes, by rank 4 and by names.
TEST(PredicateTest, DenseBroadcasts) {
  const std::vector<uint8_t> values = SomeBools(kBatch * kHeads * kQ * kK);
  const int64_t sizes[4] = {kBatch, kHeads, kQ, kK};
  for (int full = 0; full < 16; ++full) {
    int64_t shape[4], step[4];
    for (int64_t axis = 3, next = 1; axis >= 0; --axis) {
      shape[axis] = (full >> axis & 1) != 0 ? sizes[axis] : 1;
      step[axis] = shape[axis] == 1 ? 0 : next;
      next *= shape[axis];
    }
    SCOPED_TRACE(testing::Message() << "pattern " << full);
    ConstTensor view(values.data(), DType::kBool, {shape[0], shape[1], shape[2], shape[3]});
    ExpectMeans(mask::Dense(view), [&](auto b, auto h, auto i, auto j) {
      return values[b * step[0] + h * step[1] + i * step[2] + j * step[3]] != 0;
    });
  }
  ExpectMeans(mask::Dense(ConstTensor(values.data(), DType::kBool, {kHeads, kK}), "hk"),
              [&](auto, auto h, auto, auto j) { return values[h * kK + j] != 0; });
}

TEST(PredicateTest, DenseStrides) {
  const std::vector<uint8_t> values = SomeBools(200);
  ConstTensor view(values.data() + 100, DType::kBool, {kQ, kK});
  view.stride[0] = -7;
  view.stride[1] = 3;
  ExpectMeans(mask::Dense(view, "qk"),
              [&](auto, auto, auto i, auto j) { return values[100 - 7 * i + 3 * j] != 0; });
}

TEST(PredicateTest, TermsAreJoinedByAnd) {
  const std::vector<int64_t> lengths = {5, 2}, rows = {3, 4};
  const Mask mask = mask::KeyLengths(lengths) & mask::Causal(1) & mask::QueryLengths(rows);
  const Definition wide = [&](auto b, auto, auto i, auto j) {
    return j < lengths[b] && i < rows[b];
  };
  const Definition definition = [&](auto b, auto h, auto i, auto j) {
    return wide(b, h, i, j) && j <= i + 1;
  };
  ExpectMeans(SomeProblem(), mask, definition, wide);
}

TEST(PredicateTest, PrefixCausal) {
  const std::vector<int64_t> prefix = {0, 4};
  ExpectBand(mask::PrefixCausal(prefix, 1),
             [&](auto b, auto, auto i, auto j) { return j < prefix[b] || j <= i + 1; });
  ExpectBand(mask::PrefixCausal(prefix, INT64_MIN),
             [&](auto b, auto, auto, auto j) { return j < prefix[b]; });
}

TEST(PredicateTest, Blocks) {
  const std::vector<uint8_t> values = {1, 0, 1, /**/ 0, 1, 0};  // rows of 3 queries, 2 keys wide
  ExpectMeans(mask::Blocks(ConstTensor(values.data(), DType::kBool, {2, 3}), "qk", 3, 2),
              [&](auto, auto, auto i, auto j) { return values[i / 3 * 3 + j / 2] != 0; });
  ExpectMeans(mask::Blocks(ConstTensor(values.data(), DType::kBool, {2, 1, 3}), "hqk", 100, 2),
              [&](auto, auto h, auto, auto j) { return values[h * 3 + j / 2] != 0; });
}

TEST(PredicateTest, AFunctionIsWhatItSays) {
  const Definition odd = [](auto b, auto h, auto i, auto j) {
    return (b + 2 * h + i * j) % 3 == 1;
  };
  ExpectMeans(mask::Function(odd), odd);
}

TEST(PredicateTest, OrAndNot) {
  const std::vector<int64_t> keys = {5, 2}, rows = {3, 4};
  const Definition in_keys = [&](auto b, auto, auto, auto j) { return j < keys[b]; };
  const Definition in_rows = [&](auto b, auto, auto i, auto) { return i < rows[b]; };
  const Definition causal = [](auto, auto, auto i, auto j) { return j <= i + 1; };
  const Mask a = mask::KeyLengths(keys), b = mask::QueryLengths(rows), c = mask::Causal(1);
  const auto none = [](auto...) { return false; };
  ExpectMeans(~Mask(), none);
  ExpectMeans(Mask() | a, [](auto...) { return true; });
  ExpectMeans(~a, [&](auto... at) { return !in_keys(at...); });
  ExpectMeans(a | b, [&](auto... at) { return in_keys(at...) || in_rows(at...); });
  ExpectMeans(~(a & b) | (a & ~b), [&](auto... at) {
    return !(in_keys(at...) && in_rows(at...)) || (in_keys(at...) && !in_rows(at...));
  });
  ExpectMeans(~(~a | ~(b & ~a)), none);
  // Only at the top do bands count as true for the origin.
  ExpectMeans(~c, [&](auto... at) { return !causal(at...); });
  ExpectMeans(c | a, [&](auto... at) { return causal(at...) || in_keys(at...); });
  ExpectBand(~~c, causal);
  ExpectMeans(SomeProblem(), c & (c | a), causal,
              [&](auto... at) { return causal(at...) || in_keys(at...); });
}

TEST(PredicateTest, DocumentsUnderOrMakeNoDocuments) {
  const std::vector<int64_t> q = {0, 2, 4}, k = {0, 1, 6};
  const Problem problem = test::MakeProblem(kQ, kK, 1);
  const Mask documents = mask::DocumentsFromBoundaries(q, k);
  EXPECT_NE(Predicate(problem, documents).DocumentOf(0, 0),
            Predicate(problem, documents).DocumentOf(0, 3));
  const Predicate either(problem, documents | mask::Causal(0));
  EXPECT_EQ(either.DocumentOf(0, 0), either.DocumentOf(0, 3));
}

TEST(PredicateTest, KnowsWhatItDependsOn) {
  const Problem problem = SomeProblem();
  const std::vector<uint8_t> values = SomeBools(kBatch * kHeads * kK);
  const std::vector<int64_t> lengths = {5, 2};
  const auto dense = [&](std::initializer_list<int64_t> shape, const char* axes) {
    return mask::Dense(ConstTensor(values.data(), DType::kBool, shape), axes);
  };
  ConstTensor shared(lengths.data(), {kBatch});
  shared.stride[0] = 0;
  const struct {
    Mask mask;
    bool by_batch, by_head;
  } cases[] = {{{}, false, false},
               {mask::Causal(1), false, false},
               {mask::Causal(ConstTensor(lengths)), true, false},
               {mask::KeyLengths(lengths), true, false},
               {mask::KeyLengths(shared), false, false},
               {dense({kHeads, kK}, "hk"), false, true},
               {dense({kBatch, kHeads, kK}, "bhk"), true, true},
               {dense({kBatch, 1, 1, kK}, ""), true, false},
               {dense({1, kK}, "hk"), false, false},
               {mask::PrefixCausal(lengths, 0), true, false},
               {mask::PrefixCausal(shared, 0), false, false},
               {~(mask::Causal(1) | ~mask::KeyLengths(lengths)), true, false},
               {mask::Causal(1) | dense({kHeads, kK}, "hk"), false, true},
               {~mask::Blocks(ConstTensor(values.data(), DType::kBool, {kHeads, 2}), "hk", 1, 3),
                false, true},
               {mask::Function([](auto...) { return true; }), true, true}};
  for (const auto& one : cases) {
    const Predicate predicate(problem, one.mask);
    EXPECT_EQ(predicate.VariesByBatch(), one.by_batch);
    EXPECT_EQ(predicate.VariesByHead(), one.by_head);
  }
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
