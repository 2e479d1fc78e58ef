// What a Reference holds, and the two evaluations of a row that it offers.
#ifndef SKIPATTN_REFERENCE_IMPL_H_
#define SKIPATTN_REFERENCE_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "plan/bias_term.h"
#include "skipattn/plan.h"
#include "skipattn/reference.h"

namespace skipattn {
inline namespace v0 {

namespace internal {

/// A bias as its definition: slopes and tables are copied, dense values are read where the caller
/// has them.
struct ReferenceBias {
  BiasKind kind = BiasKind::kNone;
  std::vector<float> values;    // [heads] slopes or [heads, size] tables
  int64_t size = 0;             // R
  std::vector<int64_t> offset;  // of each batch entry

  /// The number as given. `dense`: the four axes of a dense one.
  float At(const ConstTensor& dense, int64_t b, int64_t h, int64_t i, int64_t j) const;
};

}  // namespace internal

struct Reference::Impl {
  Problem problem;
  double scale = 0;
  double softcap = 0;  // 0 = none
  EmptyRows empty_rows = EmptyRows::kZero;
  internal::ReferenceBias bias;
  std::vector<int64_t> key_origin;  // of the options: none, one, or one per batch entry

  // A plane is one [q_len, k_len] table. Batch entries, and heads, that the mask does not tell
  // apart share one: then the step from one to the next is 0.
  int64_t batch_step = 0, head_step = 0;  // in planes
  std::vector<uint8_t> allowed;           // [planes, q_len, k_len], 1 = attend
  std::vector<int64_t> origin;            // [planes, q_len], what the mask says

  /// Where row (b, h, i) is in `origin`; times k_len, in `allowed`.
  size_t RowOf(int64_t b, int64_t h, int64_t i) const {
    return static_cast<size_t>((b * batch_step + h * head_step) * problem.q_len + i);
  }
};

namespace internal {

/// One query row and the tensors it reads. Pointers are formed only for what is read, as memory of
/// rows and keys that nobody attends is none of ours.
class ReferenceRow {
 public:
  ReferenceRow(const Reference::Impl& impl, const RunArgs& args, int64_t b, int64_t h, int64_t i)
      : impl_(impl), args_(args), b_(b), h_(h), i_(i) {}

  int64_t dim() const { return impl_.problem.dim; }
  int64_t v_dim() const { return impl_.problem.v_dim; }
  int64_t k_len() const { return impl_.problem.k_len; }
  double scale() const { return impl_.scale; }
  double softcap() const { return impl_.softcap; }
  EmptyRows empty_rows() const { return impl_.empty_rows; }
  /// -inf = none.
  float Sink() const {
    if (!args_.sinks.given()) return -std::numeric_limits<float>::infinity();
    return static_cast<const float*>(args_.sinks.data)[h_ * args_.sinks.stride[0]];
  }

  bool Allows(int64_t j) const {
    return impl_.allowed[impl_.RowOf(b_, h_, i_) * static_cast<size_t>(k_len()) +
                         static_cast<size_t>(j)] != 0;
  }
  /// Where the grid of chunks begins.
  int64_t Origin() const {
    const std::vector<int64_t>& given = impl_.key_origin;
    if (given.empty()) return impl_.origin[impl_.RowOf(b_, h_, i_)];
    return given[given.size() == 1 ? 0 : static_cast<size_t>(b_)];
  }

  /// The bias as given; 0 without one. One of -inf masks.
  float Bias(int64_t j) const { return impl_.bias.At(args_.bias, b_, h_, i_, j); }

  /// Where the fold begins: the M, l and o of an earlier run; null = at nothing.
  const float* CarriedMax() const { return Carried(args_.carry_in.max); }
  const float* CarriedSum() const { return Carried(args_.carry_in.sum); }
  const float* CarriedOut() const { return Carried(args_.carry_in.out); }

  const float* Query() const { return At(args_.q, h_, i_); }
  const float* Key(int64_t j) const { return At(args_.k, KvHead(), j); }
  const float* Value(int64_t j) const { return At(args_.v, KvHead(), j); }

 private:
  int64_t KvHead() const { return h_ / (impl_.problem.heads / impl_.problem.kv_heads); }
  const float* Carried(const ConstTensor& view) const {
    return view.given() ? At(view, h_, i_) : nullptr;
  }
  const float* At(const ConstTensor& view, int64_t head, int64_t position) const {
    return static_cast<const float*>(view.data) + b_ * view.stride[0] + head * view.stride[1] +
           position * view.stride[2];
  }

  const Reference::Impl& impl_;
  const RunArgs& args_;
  int64_t b_, h_, i_;
};

/// The keys in [begin, end) that the row attends, ascending.
std::vector<int64_t> AllowedKeys(const ReferenceRow& row, int64_t begin, int64_t end);

/// The exact arithmetic: `out` [v_dim] (not of an empty row that is kept) and, if not null, `lse`.
/// Needs a ScopedFloatEnv around it.
void EvaluateExact(const ReferenceRow& row, float* out, float* lse);

/// The fold alone, before the sink: `max`, `sum` and `out` [v_dim].
void EvaluateState(const ReferenceRow& row, float* max, float* sum, float* out);

/// Of the exact arithmetic: log2 of a positive normal number, and tanh. Here so that their errors
/// can be tested.
float Log2(float l);
float Tanh(float x);

/// The same operation in float64.
Float64Row EvaluateFloat64(const ReferenceRow& row);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_REFERENCE_IMPL_H_
