// A random attention problem with tensors in random layouts, run through any plan and compared with
// the exact reference.
#ifndef SKIPATTN_TESTS_ATTENTION_CASE_H_
#define SKIPATTN_TESTS_ATTENTION_CASE_H_

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/random_array.h"

namespace skipattn::test {

/// Floats with a layout: {B, H, T, D} or {B, T, H, D} in memory, with or without a gap between
/// rows.
struct FloatTensor {
  std::vector<float> storage;
  int64_t shape[4];
  int64_t stride[4];

  FloatTensor() = default;
  FloatTensor(std::vector<int64_t> sizes, bool heads_inside, int64_t gap, float fill) {
    std::copy(sizes.begin(), sizes.end(), shape);
    const int64_t row = shape[3] + gap;
    stride[3] = 1;
    stride[1] = heads_inside ? row : row * shape[2];
    stride[2] = heads_inside ? row * shape[1] : row;
    stride[0] = row * shape[1] * shape[2];
    storage.assign(static_cast<size_t>(stride[0] * shape[0]), fill);
  }

  float* Row(int64_t b, int64_t h, int64_t t) {
    return storage.data() + b * stride[0] + h * stride[1] + t * stride[2];
  }
  Tensor View() {
    Tensor view(storage.data(), {shape[0], shape[1], shape[2], shape[3]});
    std::copy(stride, stride + 4, view.stride);
    return view;
  }
};

/// What a run wrote.
struct Outputs {
  FloatTensor out, lse;  // lse has rows of one element
};

/// q, k and v of a problem. Gaps between rows hold NaN: nobody may read them.
struct AttentionCase {
  Problem problem;
  FloatTensor q, k, v;
  ConstTensor bias;          // borrowed, where the problem has a dense one
  std::vector<float> sinks;  // of each head, where the problem has them
  bool out_heads_inside = false;
  int64_t out_gap = 0;

  AttentionCase(Rng& rng, const Problem& p) : problem(p) {
    const auto draw = [&](int64_t heads, int64_t length, int64_t dim) {
      const bool heads_inside = OneIn(rng, 2);  // apart: compilers order arguments as they like
      const int64_t gap = PickOf(rng, {0, 0, 1, 5});
      FloatTensor tensor({p.batch, heads, length, dim}, heads_inside, gap, NAN);
      for (int64_t b = 0; b < p.batch; ++b) {
        for (int64_t h = 0; h < heads; ++h) {
          for (int64_t t = 0; t < length; ++t) {
            float* row = tensor.Row(b, h, t);
            for (int64_t d = 0; d < dim; ++d) {
              row[d] = static_cast<float>(Uniform(rng, -4000000, 4000000)) / 2e6f;
            }
          }
        }
      }
      return tensor;
    };
    q = draw(p.heads, p.q_len, p.dim);
    k = draw(p.kv_heads, p.k_len, p.dim);
    v = draw(p.kv_heads, p.k_len, p.v_dim);
    out_heads_inside = OneIn(rng, 2);
    out_gap = PickOf(rng, {0, 0, 3});
    for (int64_t h = 0; p.sinks && h < p.heads; ++h) {
      sinks.push_back(static_cast<float>(Uniform(rng, -6000, 6000)) / 1e3f);
    }
  }

  /// Outputs full of a value that no result has.
  Outputs EmptyOutputs() const {
    const Problem& p = problem;
    return {FloatTensor({p.batch, p.heads, p.q_len, p.v_dim}, out_heads_inside, out_gap, -77.0f),
            FloatTensor({p.batch, p.heads, p.q_len, 1}, out_heads_inside, 0, -77.0f)};
  }

  RunArgs Args(Outputs& outputs) {
    RunArgs args;
    args.q = q.View();
    args.k = k.View();
    args.v = v.View();
    args.out = outputs.out.View();
    args.lse = outputs.lse.View();
    args.lse.rank = 3;
    if (problem.sinks) args.sinks = sinks;
    if (problem.bias) args.bias = bias;
    return args;
  }

  /// Runs a plan into fresh outputs.
  Outputs Run(const Plan& plan) {
    Outputs outputs = EmptyOutputs();
    const Status status = plan.Run(Args(outputs));
    EXPECT_TRUE(status.ok()) << status.message();
    return outputs;
  }

  /// What the exact reference gives, row by row.
  Outputs Exact(const Reference& reference) {
    Outputs outputs = EmptyOutputs();
    const RunArgs args = Args(outputs);
    for (int64_t b = 0; b < problem.batch; ++b) {
      for (int64_t h = 0; h < problem.heads; ++h) {
        for (int64_t i = 0; i < problem.q_len; ++i) {
          float* lse = outputs.lse.Row(b, h, i);
          const Status status = reference.ExactRow(args, b, h, i, outputs.out.Row(b, h, i), lse);
          EXPECT_TRUE(status.ok()) << status.message();
        }
      }
    }
    return outputs;
  }
};

/// Every element of both storages by its bits, so that writes outside the views show too.
inline ::testing::AssertionResult SameBits(const FloatTensor& got, const FloatTensor& want) {
  if (got.storage.size() != want.storage.size()) {
    return ::testing::AssertionFailure() << "sizes differ";
  }
  for (size_t n = 0; n < got.storage.size(); ++n) {
    if (std::memcmp(&got.storage[n], &want.storage[n], sizeof(float)) == 0) continue;
    return ::testing::AssertionFailure()
           << "element " << n << " of the storage is " << got.storage[n] << ", expected "
           << want.storage[n] << " (row of " << want.shape[3] << ")";
  }
  return ::testing::AssertionSuccess();
}

inline ::testing::AssertionResult SameBits(const Outputs& got, const Outputs& want) {
  if (auto same = SameBits(got.lse, want.lse); !same) return same << " (lse)";
  return SameBits(got.out, want.out) << " (out)";
}

/// A target and one of its configurations.
struct TargetConfig {
  std::string target, config;
  bool exact;
  int lanes;
};

/// Every configuration of every compiled target that this CPU can run.
inline std::vector<TargetConfig> AllConfigs() {
  std::vector<TargetConfig> all;
  for (const TargetInfo& target : CompiledTargets()) {
    if (!target.supported) continue;
    const Result<std::vector<std::string>> configs = TileConfigs(target.name);
    for (const std::string& config : *configs) {
      all.push_back({target.name, config, target.exact, target.lanes});
    }
  }
  return all;
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_ATTENTION_CASE_H_
