// Biases: how they are made and checked.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "plan/bias_term.h"
#include "plan/check_mask.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using std::to_string;

constexpr char kAxes[] = "bhqk";
constexpr int64_t kMostOffset = int64_t{1} << 62;

Status Bad(const std::string& what, const std::string& is, const std::string& expected) {
  return Status::InvalidArgument(what + " is " + is + ", expected " + expected);
}

/// Whether `axes` names as many axes as the array has, in order.
bool AxesFit(const ConstTensor& values, const std::string& axes) {
  if (values.rank > ConstTensor::kMaxRank || static_cast<int>(axes.size()) != values.rank) {
    return false;
  }
  size_t next = 0;
  for (const char axis : axes) {
    const size_t place = std::string(kAxes).find(axis);
    if (place == std::string::npos || place < next) return false;
    next = place + 1;
  }
  return true;
}

Status CheckFloats(const std::string& name, const ConstTensor& a) {
  if (!a.given()) return Bad(name, "not given", "an f32 array");
  if (a.dtype != DType::kF32) {
    return Bad(name, DTypeName(a.dtype),
               a.dtype == DType::kBool ? "f32; a bool array is a mask" : "f32");
  }
  if (reinterpret_cast<uintptr_t>(a.data) % sizeof(float) != 0) {
    return Bad(name + ": data", "not aligned", "a multiple of 4 bytes");
  }
  return {};
}

Status CheckOffsets(const Problem& p, const std::string& name, const mask::Diagonal& d) {
  if (Status status = CheckDiagonal(p, name, d); !status.ok()) return status;
  for (int64_t b = 0; b < (d.offsets.given() ? p.batch : 1); ++b) {
    const int64_t offset = d.offsets.given() ? IntAt(d.offsets, b) : d.offset.value_or(0);
    if (offset < -kMostOffset || offset > kMostOffset) {
      return Bad(name + ": offset", to_string(offset), "at most 2^62");
    }
  }
  return {};
}

Status CheckDense(const Problem& p, const BiasTerm& term) {
  if (Status status = CheckFloats("bias", term.values); !status.ok()) return status;
  const std::string axes = term.axes.empty() ? kAxes : term.axes;
  if (term.axes.empty() && term.values.rank != 4) {
    return Bad("bias: axes", "not given for rank " + to_string(term.values.rank),
               "its axes out of \"bhqk\", for example \"qk\" or \"hqk\"");
  }
  if (!AxesFit(term.values, axes)) {
    return Bad("bias: axes", "\"" + axes + "\"",
               "a subset of \"bhqk\", in that order, that names the " +
                   to_string(term.values.rank) + " axes of shape " + ShapeText(term.values));
  }
  return CheckBiasView(p, bias::FourAxes(term.values, axes));
}

/// Slopes or a table, whose first axis is the heads.
Status CheckPerHead(const Problem& p, const BiasTerm& term) {
  const bool alibi = term.kind == BiasKind::kAlibi;
  const std::string name = alibi ? "alibi" : "relative",
                    what = name + (alibi ? ": slopes" : ": table");
  const ConstTensor& a = term.values;
  if (Status status = CheckFloats(what, a); !status.ok()) return status;
  const std::string expected = alibi ? "[heads] = [" + to_string(p.heads) + "]"
                                     : "[heads, R] = [" + to_string(p.heads) + ", 1 or more]";
  if (a.rank != (alibi ? 1 : 2) || a.shape[0] != p.heads || (!alibi && a.shape[1] < 1)) {
    return Bad(what, "of shape " + ShapeText(a), expected);
  }
  if (a.data == nullptr) return Bad(what, "a null pointer", expected);
  return CheckOffsets(p, name, term.diagonal);
}

Bias Of(BiasKind kind, const ConstTensor& values, const std::string& axes,
        const mask::Diagonal& diagonal) {
  return Bias(std::make_shared<const BiasTerm>(BiasTerm{kind, values, axes, diagonal}));
}

}  // namespace

Status CheckBias(const Problem& problem, const Bias& bias) {
  if (bias.term() == nullptr) return {};
  if (problem.bias && bias.term()->kind != BiasKind::kDense) {
    return Bad("bias", "made of slopes or a table, and the problem has a dense one of its own",
               "only one of them");
  }
  return bias.term()->kind == BiasKind::kDense ? CheckDense(problem, *bias.term())
                                               : CheckPerHead(problem, *bias.term());
}

Status CheckBiasView(const Problem& p, const ConstTensor& view) {
  if (Status status = CheckFloats("bias", view); !status.ok()) return status;
  if (view.rank != 4)
    return Bad("bias: rank", to_string(view.rank), "4: [batch, heads, q_len, k_len], each or 1");
  const int64_t sizes[] = {p.batch, p.heads, p.q_len, p.k_len};
  bool empty = false;
  for (int axis = 0; axis < 4; ++axis) {
    if (view.shape[axis] != 1 && view.shape[axis] != sizes[axis]) {
      return Bad(std::string("bias: axis '") + kAxes[axis] + "'",
                 "of size " + to_string(view.shape[axis]),
                 to_string(sizes[axis]) + " or 1 (shape " + ShapeText(view) + ")");
    }
    empty = empty || view.shape[axis] == 0;
  }
  if (view.data == nullptr && !empty) return Bad("bias", "a null pointer", "f32 values");
  return {};
}

}  // namespace internal

namespace bias {

Bias Dense(const ConstTensor& values, const std::string& axes) {
  return internal::Of(internal::BiasKind::kDense, values, axes, {});
}

Bias Alibi(const ConstTensor& slopes, const mask::Diagonal& diagonal) {
  return internal::Of(internal::BiasKind::kAlibi, slopes, "", diagonal);
}

Bias Relative(const ConstTensor& table, const mask::Diagonal& diagonal) {
  return internal::Of(internal::BiasKind::kRelative, table, "", diagonal);
}

ConstTensor FourAxes(const ConstTensor& values, const std::string& given_axes) {
  const std::string axes = given_axes.empty() ? internal::kAxes : given_axes;
  if (!internal::AxesFit(values, axes)) return values;
  ConstTensor view = values;
  view.rank = 4;
  std::fill_n(view.shape, 4, 1);
  std::fill_n(view.stride, 4, 0);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const size_t place = std::string(internal::kAxes).find(axes[axis]);
    view.shape[place] = values.shape[axis];
    view.stride[place] = values.stride[axis];
  }
  return view;
}

}  // namespace bias
}  // namespace v0
}  // namespace skipattn
