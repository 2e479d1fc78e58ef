// Reference: what it accepts, which keys a row attends, and where its chunks begin.
#include "skipattn/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

#include "tests/test_util.h"

// Sanitizers end the process where there is too little memory; this throws in every build.
// Not inlined, as gcc takes a free() that it sees for a mistake.
__attribute__((noinline)) void* operator new(std::size_t size) {
  if (size < (std::size_t{1} << 40)) {
    if (void* memory = std::malloc(size)) return memory;
  }
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace skipattn {
namespace {

using test::Complains;
using test::Inputs;
using test::MakeProblem;
using test::SameBits;

Reference Make(const Problem& problem, const Mask& mask, const AttentionOptions& options = {}) {
  Result<Reference> reference = Reference::Make(problem, mask, options);
  EXPECT_TRUE(reference.ok()) << reference.status().message();
  return *std::move(reference);
}

// ---------------------------------------------------------------------------------------- checks

TEST(ReferenceTest, MakeChecksAllThatItIsGiven) {
  Problem problem = MakeProblem(2, 3, 4);
  EXPECT_TRUE(Complains(Reference::Make(problem, mask::Causal()).status(), {"top_left"}));
  AttentionOptions options;
  options.threads = -1;
  EXPECT_TRUE(Complains(Reference::Make(problem, {}, options).status(), {"threads"}));
  problem.dim = 0;
  EXPECT_TRUE(Complains(Reference::Make(problem, {}).status(), {"dim"}));
}

TEST(ReferenceTest, TooLargeATableIsOutOfMemory) {
  const Result<Reference> huge = Reference::Make(MakeProblem(int64_t{1} << 30, 1 << 30, 1), {});
  EXPECT_EQ(huge.status().code(), StatusCode::kOutOfMemory);
}

TEST(ReferenceTest, RowsAreChecked) {
  const Inputs inputs(MakeProblem(2, 3, 4), 1);
  const Reference reference = Make(inputs.problem, {});
  float out[4];
  const RunArgs args = inputs.Args();
  EXPECT_TRUE(Complains(reference.ExactRow(args, 1, 0, 0, out, nullptr), {"b is 1", "than 1"}));
  EXPECT_TRUE(Complains(reference.ExactRow(args, 0, -1, 0, out, nullptr), {"h is -1"}));
  EXPECT_TRUE(Complains(reference.Row64(args, 0, 0, 2).status(), {"i is 2", "than 2"}));
  EXPECT_TRUE(Complains(reference.ExactRow(args, 0, 0, 0, nullptr, nullptr), {"out is null"}));
  EXPECT_TRUE(Complains(reference.ExactRow({}, 0, 0, 0, out, nullptr), {"q is not given"}));
  EXPECT_TRUE(reference.ExactRow(args, 0, 0, 0, out, nullptr).ok());
  EXPECT_TRUE(reference.Allows(0, 0, 0, 0));
  EXPECT_FALSE(reference.Allows(0, 0, 0, 3));
  EXPECT_FALSE(reference.Allows(0, 0, -1, 0));
}

// ------------------------------------------------------------------------------------------- keys

// With q = 0 all attended keys weigh the same, so v_j = 2^j makes out * count spell their set.
TEST(ReferenceTest, OutputSpellsTheAttendedSet) {
  Problem problem = MakeProblem(9, 20, 3);
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  Inputs inputs(problem, 1);
  inputs.q = test::Array4({2, 4, 9, 3});
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 2; ++h) {
      for (int64_t j = 0; j < 20; ++j) inputs.v.At(b, h, j, h) = std::ldexp(1.0f, int(j));
    }
  }
  const std::vector<int64_t> lengths = {17, 6};
  std::vector<uint8_t> by_head(4 * 20);
  for (size_t n = 0; n < by_head.size(); ++n) by_head[n] = n % 7 != 3;
  const Reference reference =
      Make(problem, mask::KeyLengths(lengths) & mask::Window(8, 2, 4) &
                        mask::Dense(ConstTensor(by_head.data(), DType::kBool, {4, 20}), "hk"));
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t h = 0; h < 4; ++h) {
      for (int64_t i = 0; i < 9; ++i) {
        SCOPED_TRACE(testing::Message() << "b " << b << " h " << h << " i " << i);
        int64_t set = 0, count = 0;
        for (int64_t j = 0; j < 20; ++j) {
          const bool allowed = j < lengths[b] && j >= i - 4 && j <= i + 6 && by_head[h * 20 + j];
          EXPECT_EQ(reference.Allows(b, h, i, j), allowed);
          if (allowed) set |= int64_t{1} << j, ++count;
        }
        const float out = test::ExactRow(reference, inputs, b, h, i).out[h / 2];
        EXPECT_EQ(std::llround(out * static_cast<double>(count)), set);
      }
    }
  }
}

TEST(ReferenceTest, OwnsWhatItNeeds) {
  std::vector<int64_t> lengths = {3};
  const Reference reference = Make(MakeProblem(2, 5, 1), mask::KeyLengths(lengths));
  lengths[0] = 0;
  EXPECT_TRUE(reference.Allows(0, 0, 1, 2));
}

// ---------------------------------------------------------------------------------------- origins

// Keys [from, from + length) of `whole` as a sequence of its own, with as many queries at its end.
Inputs Cut(const Inputs& whole, int64_t from, int64_t length) {
  Problem problem = whole.problem;
  problem.q_len = problem.k_len = length;
  Inputs cut(problem, 0);
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t d = 0; d < problem.dim; ++d) {
      cut.q.At(0, 0, t, d) = whole.q.At(0, 0, from + t, d);
      cut.k.At(0, 0, t, d) = whole.k.At(0, 0, from + t, d);
      cut.v.At(0, 0, t, d) = whole.v.At(0, 0, from + t, d);
    }
  }
  return cut;
}

// Rows [from, from + length) under `mask` have the bits of the sequence alone, causal.
void ExpectAsAlone(const Inputs& whole, const Mask& mask, int64_t from, int64_t length,
                   const AttentionOptions& options = {}) {
  const Inputs alone = Cut(whole, from, length);
  const Reference by_mask = Make(whole.problem, mask, options);
  const Reference by_itself = Make(alone.problem, mask::Causal());
  for (int64_t t = 0; t < length; ++t) {
    EXPECT_TRUE(SameBits(test::ExactRow(by_mask, whole, 0, 0, from + t),
                         test::ExactRow(by_itself, alone, 0, 0, t)))
        << "at position " << t << " of " << length << " from " << from;
  }
}

TEST(OriginTest, PaddingOnEitherSideGivesTheBitsOfTheSequenceAlone) {
  const Inputs inputs(MakeProblem(300, 300, 4), 5);
  for (const int64_t from : {0, 1, 77, 127, 128, 150}) {
    const int64_t length = 150;
    const std::vector<int64_t> begin = {from}, end = {from + length};
    std::vector<uint8_t> valid(300);
    std::fill_n(valid.begin() + from, length, uint8_t{1});
    const ConstTensor view(valid.data(), DType::kBool, {1, 300});
    ExpectAsAlone(inputs, mask::KeyRange(begin, end) & mask::Causal(), from, length);
    ExpectAsAlone(inputs, mask::Padding(view) & mask::Causal(), from, length);
    ExpectAsAlone(inputs, mask::Dense(view, "bk") & mask::Causal(), from, length);
  }
}

TEST(OriginTest, DocumentsHaveTheirOwn) {
  const Inputs inputs(MakeProblem(300, 300, 4), 6);
  const std::vector<int64_t> boundaries = {0, 37, 37, 200, 300};
  const Mask mask = mask::DocumentsFromBoundaries(boundaries, boundaries) & mask::Causal();
  for (size_t n = 0; n + 1 < boundaries.size(); ++n) {
    ExpectAsAlone(inputs, mask, boundaries[n], boundaries[n + 1] - boundaries[n]);
  }
}

// A window that is a term leaves the origin where the sequence begins; inside a dense mask nobody
// sees that, and rows late enough begin at the first key of any of them.
TEST(OriginTest, TermsAreSeenThroughAndDenseMasksAreNot) {
  const Inputs inputs(MakeProblem(300, 300, 4), 7);
  std::vector<uint8_t> values(300 * 300);
  for (int64_t i = 150; i < 300; ++i) {
    for (int64_t j = i - 140; j <= i; ++j) values[static_cast<size_t>(i * 300 + j)] = 1;
  }
  const Mask dense = mask::Dense(ConstTensor(values.data(), DType::kBool, {300, 300}), "qk");
  const Reference by_term = Make(inputs.problem, mask::Window(140, 0));
  AttentionOptions options;
  options.key_origin = {-256};
  const Reference told = Make(inputs.problem, dense, options);
  const Reference untold = Make(inputs.problem, dense);
  options.key_origin = {10 + 128};  // the lowest key that row 150 attends, on the same grid
  const Reference same_grid = Make(inputs.problem, dense, options);
  int differences = 0;
  for (int64_t i = 150; i < 300; ++i) {
    const test::Row row = test::ExactRow(by_term, inputs, 0, 0, i);
    EXPECT_TRUE(SameBits(row, test::ExactRow(told, inputs, 0, 0, i)));
    const test::Row other = test::ExactRow(untold, inputs, 0, 0, i);
    EXPECT_TRUE(SameBits(other, test::ExactRow(same_grid, inputs, 0, 0, i)));
    differences += SameBits(row, other) ? 0 : 1;
  }
  EXPECT_GT(differences, 0);
}

TEST(OriginTest, MayBeGivenPerBatchEntry) {
  Problem problem = MakeProblem(1, 400, 4);
  problem.batch = 2;
  Inputs inputs(problem, 8);
  AttentionOptions options;
  options.key_origin = {5, INT64_MIN + 77};
  const Reference both = Make(problem, {}, options);
  for (int64_t b = 0; b < 2; ++b) {
    options.key_origin = {b == 0 ? 5 : 77};
    const Reference one = Make(problem, {}, options);
    EXPECT_TRUE(
        SameBits(test::ExactRow(both, inputs, b, 0, 0), test::ExactRow(one, inputs, b, 0, 0)));
  }
}

// Rows that a query term excludes do not count, and neither do keys that no row attends.
TEST(OriginTest, OnlyRowsThatAttendCount) {
  const Inputs inputs(MakeProblem(200, 200, 4), 9);
  std::vector<uint8_t> values(200 * 200, 1);
  for (int64_t i = 50; i < 200; ++i) {
    for (int64_t j = 0; j < 50; ++j) values[static_cast<size_t>(i * 200 + j)] = 0;
  }
  const Mask dense = mask::Dense(ConstTensor(values.data(), DType::kBool, {200, 200}), "qk");
  const std::vector<int64_t> begin = {50}, end = {200};
  ExpectAsAlone(inputs, dense & mask::Causal() & mask::QueryRange(begin, end), 50, 150);
}

TEST(OriginTest, ATokenDecodedAloneHasTheBitsOfThePrefill) {
  const Inputs prefill(MakeProblem(200, 200, 4), 10);
  const Reference all = Make(prefill.problem, mask::Window(150, 0));
  Inputs token(MakeProblem(1, 200, 4), 0);
  token.k = prefill.k;
  token.v = prefill.v;
  const Reference one = Make(token.problem, mask::Window(150, 0, mask::Align::kBottomRight));
  for (int64_t d = 0; d < 4; ++d) token.q.At(0, 0, 0, d) = prefill.q.At(0, 0, 199, d);
  EXPECT_TRUE(
      SameBits(test::ExactRow(all, prefill, 0, 0, 199), test::ExactRow(one, token, 0, 0, 0)));
}

}  // namespace
}  // namespace skipattn
