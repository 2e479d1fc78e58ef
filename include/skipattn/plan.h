// Plan: a mask compiled for a problem, made once and run many times.
#ifndef SKIPATTN_PLAN_H_
#define SKIPATTN_PLAN_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "skipattn/bias.h"
#include "skipattn/mask.h"
#include "skipattn/options.h"
#include "skipattn/status.h"
#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {

/// Sizes and types, and what the runs will bring beside q, k and v. `batch`, `q_len` and `k_len`
/// may be 0, the others may not. Query head h reads key head h / (heads / kv_heads), so `kv_heads`
/// divides `heads`.
struct Problem {
  int64_t batch = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t q_len = 0;
  int64_t k_len = 0;
  int64_t dim = 0;    ///< of q and k
  int64_t v_dim = 0;  ///< of v and out
  DType q_dtype = DType::kF32;
  DType kv_dtype = DType::kF32;
  DType out_dtype = DType::kF32;
  bool bias = false;   ///< RunArgs::bias is given: a dense bias
  bool sinks = false;  ///< RunArgs::sinks is given
};

/// The state of a fold over keys, f32: what the weights so far are relative to (a power of two, as
/// its exponent), their sum, and the sum of the weighted values. In what it means for other
/// arithmetic it is (max * ln 2, sum, out) of an online softmax.
template <typename View>
struct BasicCarry {
  View max;  ///< [B, heads, q_len]
  View sum;  ///< [B, heads, q_len]
  View out;  ///< [B, heads, q_len, v_dim]; its last stride must be 1
  bool given() const { return max.given() || sum.given() || out.given(); }
};
using Carry = BasicCarry<Tensor>;
using ConstCarry = BasicCarry<ConstTensor>;

/// What differs from run to run: where the tensors are. All views are addressed
/// {batch, head, position, dim}; any strides, but the last one must be 1 (where that axis is
/// longer than 1).
struct RunArgs {
  ConstTensor q;  ///< [B, heads, q_len, dim]
  ConstTensor k;  ///< [B, kv_heads, k_len, dim]
  ConstTensor v;  ///< [B, kv_heads, k_len, v_dim]
  Tensor out;     ///< [B, heads, q_len, v_dim]; must not overlap an input or itself
  Tensor lse;     ///< optional, f32 [B, heads, q_len]: natural log of the sum of exp(score)

  /// Added to the scores after the softcap, where the problem says so: f32 [batch, heads, q_len,
  /// k_len], any of them 1 to broadcast, any strides; `bias::FourAxes` makes it of other ranks.
  ConstTensor bias;

  /// One logit per query head, f32 [heads], where the problem says so: exp(sink) joins the sum of
  /// exp(score), in lse too, and has no value. At most 1e30, not NaN; -inf = none for that head.
  ConstTensor sinks;

  /// Attention over keys that come in parts, one run for each, with the bits of a single run: all
  /// but the last run leave their state in `carry_out` (`out` and `lse` are not given then), all
  /// but the first begin with it as `carry_in`. Parts must meet at a boundary of the chunk grid:
  /// `key_origin` of each part is that of the whole less the number of keys before. `carry_out` may
  /// be `carry_in` itself. Sinks join in the last run; empty_rows = uniform needs all keys at once.
  ConstCarry carry_in;
  Carry carry_out;

  /// Scratch of `Plan::workspace_bytes(threads)` bytes, aligned to 64; null = the library keeps
  /// one per thread.
  void* workspace = nullptr;
  size_t workspace_bytes = 0;

  /// Threads of this run; 0 = the plan's.
  int threads = 0;
};

/// What a plan will do. A block is the part of a tile of query rows that meets one 128-key chunk.
struct PlanStats {
  int64_t live_pairs = 0;   ///< (query, key) pairs that the mask allows, over all heads
  int64_t dense_pairs = 0;  ///< batch * heads * q_len * k_len
  int64_t empty_rows = 0;   ///< query rows without a key, over all heads
  int64_t tiles = 0;
  int64_t skipped_blocks = 0;  ///< no row of the tile attends a key of the chunk
  int64_t full_blocks = 0;     ///< no mask is looked at: every row attends every key that is read
  int64_t partial_blocks = 0;
  bool needs_bias = false;  ///< runs must bring a dense bias: not where all that it does is mask
  std::string config;
  std::string target;
};

/// An immutable value; copies share their contents. A Plan owns all that it needs and may be run
/// from several threads at once.
class SKIPATTN_API Plan {
 public:
  /// Computes. Checks every argument first and writes nothing if one is wrong. Allocates nothing
  /// after the first run on a thread (or ever, with a workspace).
  Status Run(const RunArgs& args) const;

  PlanStats stats() const;

  /// The plan for people: sizes, shares, configuration and a small picture of the mask.
  std::string Describe() const;

  /// Bytes that `RunArgs::workspace` must have for a run with so many threads (0 = the plan's).
  size_t workspace_bytes(int threads = 0) const;

  const Problem& problem() const;

  struct Impl;
  explicit Plan(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  const Impl& impl() const { return *impl_; }

 private:
  std::shared_ptr<const Impl> impl_;
};

/// Compiles a mask for a problem. The arrays that `mask` borrows are not needed afterwards.
SKIPATTN_API Result<Plan> MakePlan(const Problem& problem, const Mask& mask,
                                   const AttentionOptions& options = {});

/// The same with a bias, whose arrays are not needed afterwards either. A dense one stands for
/// those that the runs will bring (`problem.bias` need not say so): where it masks, the plan does.
/// One that masks, and is 0 wherever it does not (a mask in additive form), may be left out of the
/// runs, which are faster for it; not where soft keys are all that a row has.
/// A plan made without it lets the runs' bias mask too, but skips nothing for it, takes its soft
/// values (AttentionOptions::bias_is_mask) as numbers, and finds the chunk grid without it.
SKIPATTN_API Result<Plan> MakePlan(const Problem& problem, const Mask& mask, const Bias& bias,
                                   const AttentionOptions& options);

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_H_
