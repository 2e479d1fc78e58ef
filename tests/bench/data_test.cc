// Inputs: the same everywhere, whatever the layout, and of the size that scores have.
#include "bench/data.h"

#include <cmath>

#include "bench/hash.h"
#include "gtest/gtest.h"

namespace skipattn::bench {
namespace {

Problem ProblemOfTwo() {
  Problem problem;
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.q_len = problem.k_len = 33;
  problem.dim = 64;
  problem.v_dim = 8;
  return problem;
}

const std::vector<Tokens> kSequences = {Tokenize("The quick brown fox jumps over the lazy dog."),
                                        Tokenize("the dog sleeps")};

uint64_t HashOfArray(const Array& array) {
  uint64_t hash = kFnvStart;
  const int64_t* shape = array.view.shape;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t t = 0; t < shape[2]; ++t) {
        hash = Fnv1a64(array.Row(b, h, t), shape[3] * sizeof(float), hash);
      }
    }
  }
  return hash;
}

// Standard deviation of the scaled scores of the first sequence.
double ScoreDeviation(const Inputs& inputs, const Problem& p, int64_t len) {
  double sum = 0, squares = 0;
  for (int64_t h = 0; h < p.heads; ++h) {
    for (int64_t i = 0; i < len; ++i) {
      for (int64_t j = 0; j < len; ++j) {
        double score = 0;
        for (int64_t d = 0; d < p.dim; ++d) {
          score += inputs.q.Row(0, h, i)[d] * inputs.k.Row(0, h / 2, j)[d];
        }
        score /= std::sqrt(static_cast<double>(p.dim));
        sum += score;
        squares += score * score;
      }
    }
  }
  const double n = static_cast<double>(p.heads * len * len);
  return std::sqrt(squares / n - sum / n * (sum / n));
}

TEST(Array, IsAlignedAndAddressedAsBhtd) {
  for (Layout layout : {Layout::kBhtd, Layout::kBthd}) {
    const Array array(2, 3, 5, 7, layout);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(array.memory.get()) % 64, 0u);
    EXPECT_EQ(array.view.shape[1], 3);
    EXPECT_EQ(array.view.shape[2], 5);
    EXPECT_EQ(array.view.stride[3], 1);
    EXPECT_EQ(array.Row(1, 2, 4) - array.memory.get() + 7, 2 * 3 * 5 * 7);
  }
}

TEST(RandomInputs, AreFixedNumbers) {
  const Inputs inputs = RandomInputs(ProblemOfTwo(), Layout::kBhtd, 1);
  EXPECT_EQ(HashOfArray(inputs.q), 0xc5c674591ad41fb1u);
  EXPECT_NE(HashOfArray(inputs.q), HashOfArray(RandomInputs(ProblemOfTwo(), Layout::kBhtd, 2).q));
}

TEST(RandomInputs, LayoutChangesNoElement) {
  const Inputs a = RandomInputs(ProblemOfTwo(), Layout::kBhtd, 1);
  const Inputs b = RandomInputs(ProblemOfTwo(), Layout::kBthd, 1);
  EXPECT_EQ(HashOfArray(a.q), HashOfArray(b.q));
  EXPECT_EQ(HashOfArray(a.k), HashOfArray(b.k));
  EXPECT_EQ(HashOfArray(a.v), HashOfArray(b.v));
}

TEST(RandomInputs, ScoresAreOfOrderOne) {
  const double deviation =
      ScoreDeviation(RandomInputs(ProblemOfTwo(), Layout::kBhtd, 1), ProblemOfTwo(), 33);
  EXPECT_GT(deviation, 1.0);
  EXPECT_LT(deviation, 1.7);
}

TEST(TextInputs, AreFixedNumbers) {
  const Inputs inputs = TextInputs(ProblemOfTwo(), kSequences, Layout::kBhtd, 1);
  EXPECT_EQ(HashOfArray(inputs.k), 0xe9b070cd6ed5c43eu);
  const Inputs other = TextInputs(ProblemOfTwo(), kSequences, Layout::kBthd, 1);
  EXPECT_EQ(HashOfArray(inputs.v), HashOfArray(other.v));
}

TEST(TextInputs, ScoresAreOfOrderTwo) {
  const double deviation =
      ScoreDeviation(TextInputs(ProblemOfTwo(), kSequences, Layout::kBhtd, 1), ProblemOfTwo(), 10);
  EXPECT_GT(deviation, 1.0);
  EXPECT_LT(deviation, 4.0);
}

TEST(TextInputs, ATokenIsItsEmbeddingAndPosition) {
  const std::vector<Tokens> same = {Tokenize("a b a"), Tokenize("a c d")};
  Problem problem = ProblemOfTwo();
  problem.q_len = problem.k_len = 4;
  const Inputs inputs = TextInputs(problem, same, Layout::kBhtd, 1);
  EXPECT_EQ(inputs.k.Row(0, 0, 0)[3], inputs.k.Row(1, 0, 0)[3]);
  EXPECT_NE(inputs.k.Row(0, 0, 1)[3], inputs.k.Row(1, 0, 1)[3]);
  EXPECT_NE(inputs.k.Row(0, 0, 0)[3], inputs.k.Row(0, 0, 2)[3]);  // same token, later
  EXPECT_EQ(inputs.k.Row(0, 0, 3)[3], inputs.k.Row(1, 0, 3)[3]);  // padding after both
  EXPECT_NE(inputs.k.Row(0, 0, 0)[3], inputs.k.Row(0, 1, 0)[3]);  // another head
  EXPECT_NE(inputs.k.Row(0, 0, 0)[3], inputs.v.Row(0, 0, 0)[3]);
}

}  // namespace
}  // namespace skipattn::bench
