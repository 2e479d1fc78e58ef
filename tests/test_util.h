// Tensors for tests: they own their elements, are filled the same way on every platform, and are
// compared bit by bit.
#ifndef SKIPATTN_TESTS_TEST_UTIL_H_
#define SKIPATTN_TESTS_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "skipattn/plan.h"
#include "skipattn/reference.h"
#include "skipattn/tensor.h"

namespace skipattn::test {

/// Contiguous f32 [B, H, T, D].
struct Array4 {
  Array4() = default;
  explicit Array4(std::array<int64_t, 4> sizes, float value = 0.0f)
      : shape(sizes), data(static_cast<size_t>(sizes[0] * sizes[1] * sizes[2] * sizes[3]), value) {}

  /// Mean 0, variance 1, bell-shaped. Sums of four uniform numbers, as std::normal_distribution
  /// differs between libraries.
  static Array4 Random(std::array<int64_t, 4> sizes, uint64_t seed) {
    Array4 array(sizes);
    std::mt19937_64 rng(seed);
    for (float& x : array.data) {
      double sum = -2.0;
      for (int n = 0; n < 4; ++n) sum += static_cast<double>(rng() >> 11) * 0x1p-53;
      x = static_cast<float>(sum * 1.7320508075688772);
    }
    return array;
  }

  size_t Index(int64_t b, int64_t h, int64_t t, int64_t d) const {
    return static_cast<size_t>(((b * shape[1] + h) * shape[2] + t) * shape[3] + d);
  }
  float& At(int64_t b, int64_t h, int64_t t, int64_t d) { return data[Index(b, h, t, d)]; }
  float At(int64_t b, int64_t h, int64_t t, int64_t d) const { return data[Index(b, h, t, d)]; }

  Tensor View() { return Tensor(data.data(), {shape[0], shape[1], shape[2], shape[3]}); }
  ConstTensor View() const {
    return ConstTensor(data.data(), {shape[0], shape[1], shape[2], shape[3]});
  }

  std::array<int64_t, 4> shape = {};
  std::vector<float> data;
};

/// Random q, k and v of a problem.
struct Inputs {
  Inputs(const Problem& p, uint64_t seed)
      : problem(p),
        q(Array4::Random({p.batch, p.heads, p.q_len, p.dim}, seed)),
        k(Array4::Random({p.batch, p.kv_heads, p.k_len, p.dim}, seed + 1)),
        v(Array4::Random({p.batch, p.kv_heads, p.k_len, p.v_dim}, seed + 2)) {
    if (p.sinks) sinks = Array4::Random({1, 1, 1, p.heads}, seed + 3).data;
  }

  /// Without an output.
  RunArgs Args() const {
    RunArgs args;
    args.q = q.View();
    args.k = k.View();
    args.v = v.View();
    if (problem.sinks) args.sinks = sinks;
    if (problem.bias) args.bias = ConstTensor(bias.data(), {1, 1, problem.q_len, problem.k_len});
    return args;
  }

  Problem problem;
  Array4 q, k, v;
  std::vector<float> sinks;
  std::vector<float> bias;  // [q_len, k_len], where the problem has one
};

/// One head and batch entry unless changed; `dim` of q, k, v and out.
inline Problem MakeProblem(int64_t q_len, int64_t k_len, int64_t dim) {
  Problem problem;
  problem.batch = problem.heads = problem.kv_heads = 1;
  problem.q_len = q_len;
  problem.k_len = k_len;
  problem.dim = problem.v_dim = dim;
  return problem;
}

inline uint32_t Bits(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

inline testing::AssertionResult SameBits(float a, float b) {
  if (Bits(a) == Bits(b)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << std::hexfloat << a << " (" << std::hex << Bits(a)
                                     << ") is not " << b << " (" << Bits(b) << ")";
}

inline testing::AssertionResult SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) {
    return testing::AssertionFailure() << "sizes " << a.size() << " and " << b.size();
  }
  for (size_t n = 0; n < a.size(); ++n) {
    if (Bits(a[n]) != Bits(b[n])) return SameBits(a[n], b[n]) << " at " << n;
  }
  return testing::AssertionSuccess();
}

/// A row of the exact arithmetic.
struct Row {
  std::vector<float> out;
  float lse = 0.0f;
};

inline testing::AssertionResult SameBits(const Row& a, const Row& b) {
  const testing::AssertionResult lse = SameBits(a.lse, b.lse);
  if (!lse) return testing::AssertionFailure() << "lse: " << lse.message();
  return SameBits(a.out, b.out);
}

inline Row ExactRow(const Reference& reference, const Inputs& inputs, int64_t b, int64_t h,
                    int64_t i) {
  Row row;
  row.out.assign(static_cast<size_t>(inputs.problem.v_dim), -1.0f);
  const Status status = reference.ExactRow(inputs.Args(), b, h, i, row.out.data(), &row.lse);
  EXPECT_TRUE(status.ok()) << status.message();
  return row;
}

/// For checks of messages: that a status is an error of an argument whose text has all `parts`.
inline testing::AssertionResult Complains(const Status& status,
                                          const std::vector<std::string>& parts) {
  if (status.code() != StatusCode::kInvalidArgument) {
    return testing::AssertionFailure() << "no complaint, code " << static_cast<int>(status.code());
  }
  for (const std::string& part : parts) {
    if (status.message().find(part) == std::string::npos) {
      return testing::AssertionFailure() << "\"" << status.message() << "\" lacks " << part;
    }
  }
  return testing::AssertionSuccess();
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_TEST_UTIL_H_
