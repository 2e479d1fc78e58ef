// Merge: attention over two sets of keys, from the results of each.
#ifndef SKIPATTN_MERGE_H_
#define SKIPATTN_MERGE_H_

#include "skipattn/status.h"
#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {

/// Results of the same queries over keys a and keys b, and room for the joint ones. f32, any
/// strides but for the last one of the outs, which must be 1 (where that axis is longer than 1).
/// `out` may be `out_a` or `out_b` itself and `lse` `lse_a` or `lse_b`; they overlap nothing else.
struct MergeArgs {
  ConstTensor out_a, lse_a;  ///< [batch, heads, q_len, v_dim] and [batch, heads, q_len]
  ConstTensor out_b, lse_b;
  Tensor out, lse;
};

/// out = (exp(lse_a) out_a + exp(lse_b) out_b) / (exp(lse_a) + exp(lse_b)), lse the log of that
/// denominator, each within 16 eps (2^-24) of the exact value of these. A side whose lse is -inf
/// has no keys: its out is not looked at. Without keys on either side out is 0. A sink belongs to
/// one of the sides only. Runs on the calling thread and allocates nothing. For the bits of a
/// single run over all keys see RunArgs::carry_in.
SKIPATTN_API Status Merge(const MergeArgs& args);

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_MERGE_H_
