// One function for each kind of change; see case_vary.h.
#include "tests/cases/case_vary.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

namespace skipattn::cases {
namespace {

struct Span {
  int64_t begin, end;
  int64_t size() const { return end - begin; }
};

/// Of an axis of a slice; all of it where it is not named.
Span ReadSpan(const Json& slice, const char* axis, int64_t size) {
  if (!slice.contains(axis)) return {0, size};
  return {slice[axis][0].get<int64_t>(), slice[axis][1].get<int64_t>()};
}

/// The part of an array with these spans of axis 0 and of another axis or two.
Array Cut(const Array& from, const std::vector<std::pair<size_t, Span>>& spans) {
  const Shape stride = StridesOf(from.shape);
  Shape shape = from.shape;
  int64_t start = 0;
  for (const auto& [axis, span] : spans) {
    shape[axis] = span.size();
    start += span.begin * stride[axis];
  }
  return Gather(from, shape, stride, start);
}

/// A part of the batch, the queries and the keys, with the part of the mask that belongs to it.
void Slice(const Json& slice, const Pairs& pairs, Variation* y) {
  const Sizes sizes = y->inputs.sizes();
  const Span b = ReadSpan(slice, "b", sizes.batch), q = ReadSpan(slice, "q", sizes.q_len);
  const Span k = ReadSpan(slice, "k", sizes.k_len);
  Array* qkv = y->inputs.qkv;
  qkv[kQ] = Cut(qkv[kQ], {{0, b}, {2, q}});
  qkv[kK] = Cut(qkv[kK], {{0, b}, {2, k}});
  qkv[kV] = Cut(qkv[kV], {{0, b}, {2, k}});
  y->inputs.mask = DenseMask(Cut(pairs.allowed, {{0, b}, {2, q}, {3, k}}));
  if (!y->inputs.bias.name.empty()) {
    y->inputs.bias = DenseBias(Cut(pairs.bias, {{0, b}, {2, q}, {3, k}}));
  }
  y->first_b = b.begin;
  y->first_i = q.begin;
}

void SetKey(int64_t b, int64_t kv_head, int64_t j, double value, Inputs* x) {
  for (Operand n : {kK, kV}) {
    Array& array = x->qkv[n];
    const int64_t d = array.shape[3];
    const int64_t at = ((b * array.shape[1] + kv_head) * array.shape[2] + j) * d;
    std::fill_n(array.values.begin() + at, d, static_cast<float>(value));
  }
}

/// Calls f(row) for the query rows of a batch entry that read a key head.
template <typename F>
void ForEachReader(const Inputs& x, int64_t b, int64_t kv_head, F f) {
  const Sizes s = x.sizes();
  const int64_t group = s.heads / x.qkv[kK].shape[1];
  const int64_t first = (b * s.heads + kv_head * group) * s.q_len;
  for (int64_t row = first; row < first + group * s.q_len; ++row) f(static_cast<size_t>(row));
}

/// Every key that no row attends.
void SetMaskedTo(double value, const Pairs& pairs, Variation* y) {
  const Array& allowed = pairs.attended;
  if (y->inputs.bias.name == "dense") {
    Array numbers = pairs.bias;
    for (size_t n = 0; n < numbers.values.size(); ++n) {
      if (pairs.allowed.values[n] == 0) numbers.values[n] = value;
    }
    y->inputs.bias = DenseBias(numbers);
  }
  const int64_t k_len = y->inputs.sizes().k_len;
  for (int64_t b = 0; b < y->inputs.sizes().batch; ++b) {
    for (int64_t head = 0; head < y->inputs.qkv[kK].shape[1]; ++head) {
      for (int64_t j = 0; j < k_len; ++j) {
        bool attended = false;
        ForEachReader(y->inputs, b, head, [&](size_t row) {
          attended = attended ||
                     allowed.values[row * static_cast<size_t>(k_len) + static_cast<size_t>(j)] != 0;
        });
        if (!attended) SetKey(b, head, j, value, &y->inputs);
      }
    }
  }
}

/// Keys that some rows attend: the others are compared.
void SetKeysTo(const Json& arg, const Array& allowed, Variation* y) {
  const auto k_len = static_cast<size_t>(y->inputs.sizes().k_len);
  for (const Json& key : arg["keys"]) {
    const int64_t b = key[0], head = key[1], j = key[2];
    SetKey(b, head, j, Number(arg["to"]), &y->inputs);
    ForEachReader(y->inputs, b, head, [&](size_t row) {
      if (allowed.values[row * k_len + static_cast<size_t>(j)] != 0) y->compared[row] = false;
    });
  }
}

/// -inf, or the least number there is, where the mask is false. A soft mask does not empty a row.
void MoveIntoBias(bool hard, const Pairs& pairs, Variation* y) {
  Array numbers = pairs.bias;
  const double low = hard ? -INFINITY : std::numeric_limits<float>::lowest();
  const auto k_len = static_cast<size_t>(numbers.shape[3]);
  for (size_t n = 0; n < numbers.values.size(); ++n) {
    if (pairs.allowed.values[n] == 0) numbers.values[n] = low;
  }
  y->inputs.mask = CaseMask();
  y->inputs.bias = DenseBias(numbers);
  for (size_t row = 0; row < y->compared.size() && !hard; ++row) {
    const auto begin = pairs.attended.values.begin() + static_cast<ptrdiff_t>(row * k_len);
    const bool attends = std::any_of(begin, begin + static_cast<ptrdiff_t>(k_len),
                                     [](double pair) { return pair != 0; });
    y->compared[row] = y->compared[row] && attends;
  }
}

/// The same mask in another form.
CaseMask MaskAs(const std::string& form, const CaseMask& mask, const Sizes& sizes,
                const Array& allowed) {
  if (form == "dense" || form == "blocks") return DenseMask(allowed, form);
  CaseMask other;
  if (form == "function") {
    other.name = form;
    other.function = PredicateOf(mask, sizes);
  } else if (form == "not_not") {
    CaseMask negation;
    other.name = negation.name = "not";
    negation.parts.push_back(mask);
    other.parts.push_back(negation);
  } else {
    throw std::runtime_error("unknown form of a mask: " + form);
  }
  return other;
}

}  // namespace

Variation Vary(const Inputs& x, const Pairs& pairs, const Json& change) {
  Variation y;
  y.inputs = x;
  y.compared.assign(static_cast<size_t>(CountOf(x.RowsShape())), true);
  for (const auto& [name, arg] : change.items()) {
    if (name == "threads") {
      y.inputs.options.threads = arg;
    } else if (name == "key_origin") {
      y.inputs.options.key_origin = ReadOrigin(arg);
    } else if (name == "layout") {
      y.inputs.layout = arg;
    } else if (name == "slice") {
      Slice(arg, pairs, &y);
    } else if (name == "mask_as" && (arg == "bias" || arg == "soft_bias")) {
      MoveIntoBias(arg == "bias", pairs, &y);
    } else if (name == "mask_as") {
      y.inputs.mask = MaskAs(arg, x.mask, x.sizes(), pairs.allowed);
    } else if (name == "set_masked_to") {
      SetMaskedTo(Number(arg), pairs, &y);
    } else if (name == "set_keys_to") {
      SetKeysTo(arg, pairs.attended, &y);
    } else if (name != "mask" && name != "bias") {
      throw std::runtime_error("unknown variation " + name);
    }
  }
  // Last, since it has the sizes of a slice.
  if (change.contains("mask")) y.inputs.mask = ReadMask(change["mask"], y.inputs.sizes());
  if (change.contains("bias")) y.inputs.bias = ReadBias(change["bias"], y.inputs.sizes());
  return y;
}

}  // namespace skipattn::cases
