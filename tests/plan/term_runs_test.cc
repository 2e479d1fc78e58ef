// Single terms: their positions and bands.
#include "plan/term_runs.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "tests/plan/decode.h"
#include "tests/random_mask.h"

namespace skipattn::internal {
namespace {

using test::PlainScan;
using test::SizesOf;

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

template <typename T>
Band BandOfMask(const Mask& mask, int64_t b = 0) {
  return BandOf(SizesOf(2, 1, 1, 4, 10), std::get<T>(mask.terms()->terms.at(0)), b);
}

TEST(BandTest, Diagonals) {
  const auto causal = [](const mask::Diagonal& diagonal, int64_t b = 0) {
    return BandOfMask<BandTerm>(mask::Causal(diagonal), b).UpperOf(3);
  };
  EXPECT_EQ(causal({}), 4);
  EXPECT_EQ(causal(mask::Align::kTopLeft), 4);
  EXPECT_EQ(causal(mask::Align::kBottomRight), 10);
  EXPECT_EQ(causal(-2), 2);
  const std::vector<int64_t> each = {0, 5};
  EXPECT_EQ(causal(ConstTensor(each), 1), 9);
}

TEST(BandTest, SidesWithoutLimitAndHugeNumbers) {
  const Band window = BandOfMask<BandTerm>(mask::Window(2, 1, 5));
  EXPECT_EQ(window.LowerOf(3), 6);
  EXPECT_EQ(window.UpperOf(3), 10);
  const Band open = BandOfMask<BandTerm>(mask::Window(-1, -1, 0));
  EXPECT_LT(open.LowerOf(1'000'000), 0);
  EXPECT_GT(open.UpperOf(0), int64_t{1} << 60);
  for (const int64_t offset : {kMost, -kMost - 1}) {
    const Band far = BandOfMask<BandTerm>(mask::Window(kMost, kMost, offset));
    EXPECT_LE(far.LowerOf(0), 0);
    EXPECT_GE(far.UpperOf(0), 0);
    EXPECT_EQ(BandOfMask<BandTerm>(mask::Causal(offset)).UpperOf(0) > 0, offset > 0);
  }
}

TEST(BandTest, APrefixIsSeenByAll) {
  const std::vector<int64_t> prefix = {6, 0};
  const Mask mask = mask::PrefixCausal(prefix, 0);
  EXPECT_EQ(BandOfMask<PrefixTerm>(mask).UpperOf(0), 6);
  EXPECT_EQ(BandOfMask<PrefixTerm>(mask).UpperOf(5), 6);
  EXPECT_EQ(BandOfMask<PrefixTerm>(mask).UpperOf(6), 7);
  EXPECT_EQ(BandOfMask<PrefixTerm>(mask, 1).UpperOf(0), 1);
  EXPECT_EQ(BandOfMask<PrefixTerm>(mask::PrefixCausal(prefix, -kMost)).UpperOf(9), 6);
}

// Where a term looks at one side alone, the product of both sides' runs is the term.
TEST(TermRunsTest, OneSidedTerms) {
  using test::TermKind;
  for (const TermKind kind :
       {TermKind::kKeyLengths, TermKind::kKeyRange, TermKind::kKeyValid, TermKind::kQueryLengths,
        TermKind::kQueryRange, TermKind::kQueryValid, TermKind::kPadding, TermKind::kDense}) {
    for (uint64_t seed = 0; seed < 60; ++seed) {
      SCOPED_TRACE("kind " + std::to_string(static_cast<int>(kind)) + ", seed " +
                   std::to_string(seed));
      test::Rng rng(seed);
      Problem problem = test::RandomSizes(rng, 40);
      problem.q_len = problem.k_len = problem.k_len + 1;
      const test::RandomTerm random = test::MakeRandomTerm(rng, problem, kind);
      const Term& term = random.mask.terms()->terms.at(0);
      if (const auto* dense = std::get_if<DenseTerm>(&term); dense && IsPlane(*dense)) continue;
      const int64_t b = problem.batch - 1, h = problem.heads - 1;
      const Runs keys = TermRuns(problem, term, true, b, h, PlainScan);
      const Runs queries = TermRuns(problem, term, false, b, h, PlainScan);
      const auto in = [](const Runs& runs, int64_t t) {
        const auto run = FirstAfter(runs, t);
        return run != runs.end() && run->begin <= t;
      };
      for (int64_t i = 0; i < problem.q_len; ++i) {
        for (int64_t j = 0; j < problem.k_len; ++j) {
          ASSERT_EQ(in(queries, i) && in(keys, j), random.allows(b, h, i, j)) << i << " " << j;
        }
      }
    }
  }
}

TEST(TermRunsTest, TermsOfBothSidesAllowEverything) {
  const Problem problem = SizesOf(1, 1, 1, 4, 6);
  const std::vector<uint8_t> zeros(24);
  const Mask masks[] = {mask::Causal(0), ~Mask(),
                        mask::Dense(ConstTensor(zeros.data(), DType::kBool, {4, 6}), "qk")};
  for (const Mask& mask : masks) {
    const Term& term = mask.terms()->terms.at(0);
    EXPECT_EQ(TermRuns(problem, term, true, 0, 0, PlainScan), (Runs{{0, 6}}));
    EXPECT_EQ(TermRuns(problem, term, false, 0, 0, PlainScan), (Runs{{0, 4}}));
  }
}

TEST(BoolRunsTest, AnyStrideAndAnyByteThatIsNotZero) {
  const std::vector<uint8_t> bytes = {0, 2, 255, 0, 0, 1, 9};
  EXPECT_EQ(BoolRuns(bytes.data(), 1, 7, PlainScan), (Runs{{1, 3}, {5, 7}}));
  EXPECT_EQ(BoolRuns(bytes.data(), 2, 4, PlainScan), (Runs{{1, 2}, {3, 4}}));
  EXPECT_EQ(BoolRuns(bytes.data() + 6, -1, 7, PlainScan), (Runs{{0, 2}, {4, 6}}));
  EXPECT_EQ(BoolRuns(bytes.data() + 1, 0, 5, PlainScan), (Runs{{0, 5}}));
}

}  // namespace
}  // namespace skipattn::internal
