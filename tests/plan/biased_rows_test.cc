// Rows of a mask and a bias, against the definition: what the bias masks, and the grid's origin.
#include "plan/biased_rows.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "reference/impl.h"
#include "skipattn/attention.h"
#include "tests/plan/decode.h"
#include "tests/random_bias.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::FloorMod;
using test::PlainScan;
using test::Rng;

PlaneRows Compile(const Problem& p, const Mask& mask, const Bias& bias,
                  const AttentionOptions& options = {}) {
  return BiasedRows(p, mask, bias, options, PlainScan).Compile(0, 0);
}

bool Attends(const PlaneRows& plane, const LiveRow& row, int64_t j) {
  const Runs& set = plane.sets.at(static_cast<size_t>(row.set));
  const auto run = FirstAfter(set, j);
  return row.lo <= j && j < row.hi && run != set.end() && run->begin <= j &&
         (row.bits < 0 || plane.bits->Row(row.bits).At(j));
}

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kLowest = std::numeric_limits<float>::lowest();

TEST(BiasedRowsTest, SoftKeysAreMaskedWhereThereAreOthers) {
  const Problem p = test::SizesOf(1, 1, 1, 3, 4);
  const std::vector<float> numbers = {kLowest, -1e30f, 5,     -kInf,  //
                                      kLowest, -1e30f, -kInf, -kInf,  //
                                      -kInf,   -kInf,  -kInf, -1e30f / 2};
  const PlaneRows plane = Compile(p, {}, bias::Dense(ConstTensor(numbers.data(), {3, 4}), "qk"));
  ASSERT_EQ(plane.rows.size(), 3u);
  const std::vector<std::vector<bool>> want = {
      {false, false, true, false}, {true, true, false, false}, {false, false, false, true}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(plane.rows[i].query, static_cast<int64_t>(i));
    for (size_t j = 0; j < 4; ++j) {
      EXPECT_EQ(Attends(plane, plane.rows[i], static_cast<int64_t>(j)), want[i][j]) << i << j;
    }
  }
  ASSERT_EQ(plane.groups.size(), 1u);
  EXPECT_EQ(plane.groups[0].origin, 2) << "soft keys move no grid";
}

TEST(BiasedRowsTest, OfSoftKeysAloneTheFirstIsTheOrigin) {
  const Problem p = test::SizesOf(1, 1, 1, 1, 3);
  const std::vector<float> numbers = {-kInf, kLowest, kLowest};
  const Bias bias = bias::Dense(ConstTensor(numbers.data(), {3}), "k");
  EXPECT_EQ(Compile(p, {}, bias).groups.at(0).origin, 1);
}

TEST(BiasedRowsTest, PlainNumbersChangeNothing) {
  const Problem p = test::SizesOf(2, 4, 2, 5, 70);
  const std::vector<float> numbers(2 * 4 * 5 * 70, -1e29f);
  const BiasedRows rows(p, {}, bias::Dense(ConstTensor(numbers.data(), {2, 4, 5, 70})), {},
                        PlainScan);
  EXPECT_FALSE(rows.per_batch());
  EXPECT_FALSE(rows.per_head());
}

TEST(BiasedRowsTest, MasksInAdditiveFormAddNothing) {
  const Problem p = test::SizesOf(1, 1, 1, 2, 3);
  const auto adds_nothing = [&](const std::vector<float>& numbers) {
    BiasedRows rows(p, {}, bias::Dense(ConstTensor(numbers.data(), {2, 3}), "qk"), {}, PlainScan);
    rows.Compile(0, 0);
    return rows.bias_adds_nothing();
  };
  EXPECT_TRUE(adds_nothing({0, -kInf, kLowest, -0.0f, 0, -1e30f}));
  EXPECT_TRUE(adds_nothing({0, 0, 0, -kInf, -kInf, -kInf}));
  EXPECT_FALSE(adds_nothing({0, -kInf, 1, 0, 0, 0}));
  EXPECT_FALSE(adds_nothing({0, -kInf, NAN, 0, 0, 0}));
  EXPECT_FALSE(adds_nothing({0, 0, 0, kLowest, kLowest, kLowest})) << "a row of soft keys alone";
  EXPECT_FALSE(adds_nothing({0, 0, 0, 0, 0, 0})) << "nothing masks, so nobody has looked";
}

TEST(BiasedRowsTest, DetectionCanBeTurnedOff) {
  const Problem p = test::SizesOf(1, 1, 1, 2, 3);
  const std::vector<float> numbers(6, -kInf);
  const Bias bias = bias::Dense(ConstTensor(numbers.data(), {2, 3}), "qk");
  EXPECT_TRUE(Compile(p, {}, bias).rows.empty());
  AttentionOptions options;
  options.bias_is_mask = false;
  EXPECT_EQ(Compile(p, {}, bias, options).rows.size(), 2u);
}

// The reference finds the same pairs from the predicate, pair by pair.
TEST(BiasedRowsTest, AgreesWithTheReference) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    Rng rng(seed);
    Problem p = test::SizesOf(test::Uniform(rng, 1, 2), 2, 1, test::Uniform(rng, 1, 20),
                              test::Uniform(rng, 1, 150));
    p.dim = p.v_dim = 1;
    const test::RandomMask random(rng, p);
    const test::RandomBias bias(rng, p);
    p.bias = bias.view.given();
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + random.text + "; " + bias.text);
    const Result<Reference> reference = Reference::Make(p, random.mask, bias.bias, {});
    ASSERT_TRUE(reference.ok()) << reference.status().message();
    BiasedRows rows(p, random.mask, bias.bias, {}, PlainScan);
    for (int64_t b = 0; b < (rows.per_batch() ? p.batch : 1); ++b) {
      for (int64_t h = 0; h < (rows.per_head() ? p.heads : 1); ++h) {
        const PlaneRows plane = rows.Compile(b, h);
        std::vector<int> pairs(static_cast<size_t>(p.q_len * p.k_len));
        for (const RowGroup& group : plane.groups) {
          for (size_t n = group.begin; n < group.end; ++n) {
            const LiveRow& row = plane.rows[n];
            for (int64_t j = 0; j < p.k_len; ++j) {
              pairs[static_cast<size_t>(row.query * p.k_len + j)] += Attends(plane, row, j);
            }
            const int64_t origin =
                reference->impl().origin.at(reference->impl().RowOf(b, h, row.query));
            ASSERT_EQ(group.origin, FloorMod(origin, 128)) << "query " << row.query;
          }
        }
        for (int64_t i = 0; i < p.q_len; ++i) {
          for (int64_t j = 0; j < p.k_len; ++j) {
            ASSERT_EQ(pairs[static_cast<size_t>(i * p.k_len + j)],
                      reference->Allows(b, h, i, j) ? 1 : 0)
                << b << " " << h << " " << i << " " << j;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::internal
