// Argument checks of a mask; see check_mask.h.
#include "plan/check_mask.h"

#include <cstdint>
#include <string>
#include <variant>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using std::to_string;

Status Bad(const std::string& what, const std::string& is, const std::string& expected) {
  return Status::InvalidArgument(what + " is " + is + ", expected " + expected);
}

bool IsInt(DType dtype) { return dtype == DType::kI32 || dtype == DType::kI64; }

/// An array of exactly this shape, of integers or of bools.
Status CheckArray(const std::string& what, const ConstTensor& a, bool ints,
                  std::initializer_list<int64_t> shape, const char* axes) {
  const std::string expected = std::string(ints ? "i32 or i64 " : "bool ") + axes + " = " +
                               ShapeText(ConstTensor(nullptr, DType::kBool, shape));
  if (!a.given()) return Bad(what, "not given", expected);
  if (ints ? !IsInt(a.dtype) : a.dtype != DType::kBool) {
    return Bad(what, DTypeName(a.dtype), expected);
  }
  bool same = a.rank == static_cast<int>(shape.size());
  int axis = 0;
  bool empty = false;
  for (int64_t size : shape) {
    same = same && a.shape[axis++] == size;
    empty = empty || size == 0;
  }
  if (!same) return Bad(what, "of shape " + ShapeText(a), expected);
  if (a.data == nullptr && !empty) return Bad(what, "a null pointer", expected);
  return {};
}

Status CheckPositions(const std::string& what, const ConstTensor& a, int64_t batch, int64_t most) {
  Status status = CheckArray(what, a, true, {batch}, "[B]");
  if (!status.ok()) return status;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t value = IntAt(a, b);
    if (value < 0 || value > most) {
      return Bad(what + "[" + to_string(b) + "]", to_string(value),
                 "a position from 0 to " + to_string(most));
    }
  }
  return {};
}

Status Check(const Problem& p, const RangeTerm& term) {
  const int64_t most = term.on_keys ? p.k_len : p.q_len;
  const std::string name = term.name;
  const bool lengths = name == "key_lengths" || name == "query_lengths";
  if (!lengths) {
    Status status = CheckPositions(name + ": begin", term.begin, p.batch, most);
    if (!status.ok()) return status;
  }
  return CheckPositions(lengths ? name : name + ": end", term.end, p.batch, most);
}

Status Check(const Problem& p, const ValidTerm& term) {
  if (term.on_queries && term.on_keys && p.q_len != p.k_len) {
    return Bad(std::string(term.name) + ": Tq = " + to_string(p.q_len),
               "not equal to Tk = " + to_string(p.k_len),
               "self-attention; use query_valid and key_valid for two lengths");
  }
  const int64_t length = term.on_keys ? p.k_len : p.q_len;
  return CheckArray(term.name, term.valid, false, {p.batch, length},
                    !term.on_queries ? "[B, Tk]" : (term.on_keys ? "[B, T]" : "[B, Tq]"));
}

Status Check(const Problem& p, const BandTerm& term) {
  const std::string name = term.name;
  if (term.left < -1)
    return Bad(name + ": left", to_string(term.left), "0 or more, or -1 for no limit");
  if (term.right < -1)
    return Bad(name + ": right", to_string(term.right), "0 or more, or -1 for no limit");
  return CheckDiagonal(p, name, term.diagonal);
}

Status Check(const Problem& p, const PrefixTerm& term) {
  Status status = CheckPositions("prefix_causal: prefix", term.prefix, p.batch, p.k_len);
  return status.ok() ? CheckDiagonal(p, "prefix_causal", term.diagonal) : status;
}

Status CheckBoundaries(const std::string& what, const ConstTensor& a, int64_t length) {
  if (!a.given() || a.rank != 1 || !IsInt(a.dtype) || a.shape[0] < 1 || a.data == nullptr) {
    return Bad(what, a.given() ? DTypeName(a.dtype) + std::string(" ") + ShapeText(a) : "not given",
               "an i32 or i64 array of one axis with at least one element");
  }
  const int64_t n = a.shape[0];
  if (IntAt(a, 0) != 0) return Bad(what + "[0]", to_string(IntAt(a, 0)), "0");
  for (int64_t d = 1; d < n; ++d) {
    if (IntAt(a, d) < IntAt(a, d - 1)) {
      return Bad(what + "[" + to_string(d) + "]", to_string(IntAt(a, d)),
                 "at least the one before it, " + to_string(IntAt(a, d - 1)));
    }
  }
  if (IntAt(a, n - 1) != length) {
    return Bad(what + "[last]", to_string(IntAt(a, n - 1)), "the length " + to_string(length));
  }
  return {};
}

Status Check(const Problem& p, const DocumentsTerm& term) {
  if (!term.boundaries) {
    Status status = CheckArray("documents: q_ids", term.q, true, {p.batch, p.q_len}, "[B, Tq]");
    if (!status.ok()) return status;
    return CheckArray("documents: k_ids", term.k, true, {p.batch, p.k_len}, "[B, Tk]");
  }
  if (p.batch != 1) {
    return Bad("documents: B", to_string(p.batch), "1 with cu_seqlens; use ids for a batch");
  }
  Status status = CheckBoundaries("documents: cu_seqlens_q", term.q, p.q_len);
  if (!status.ok()) return status;
  status = CheckBoundaries("documents: cu_seqlens_k", term.k, p.k_len);
  if (!status.ok()) return status;
  if (term.q.shape[0] != term.k.shape[0]) {
    return Bad("documents: cu_seqlens_k", "of " + to_string(term.k.shape[0]) + " elements",
               "as many as cu_seqlens_q, " + to_string(term.q.shape[0]));
  }
  return {};
}

/// A bool array over axes of these sizes, or 1. `name`: of the term.
Status CheckDense(const std::string& name, const ConstTensor& a, const std::string& given_axes,
                  const int64_t (&sizes)[4]) {
  if (!a.given()) return Bad(name, "not given", "a bool array");
  if (a.dtype != DType::kBool) {
    return Bad(name, DTypeName(a.dtype),
               "bool (true means attend): write mask != 0, or pass numbers to be added as a bias");
  }
  if (a.rank > ConstTensor::kMaxRank) return Bad(name + ": rank", to_string(a.rank), "at most 4");
  if (given_axes.empty() && a.rank != 4) {
    return Bad(name + ": axes", "not given for rank " + to_string(a.rank),
               "its axes out of \"bhqk\", for example \"bk\" for key padding or \"qk\"");
  }
  const std::string axes = given_axes.empty() ? "bhqk" : given_axes;
  const std::string all = "bhqk";
  size_t last = 0;
  bool good = static_cast<int>(axes.size()) == a.rank;
  for (size_t i = 0; i < axes.size() && good; ++i) {
    const size_t place = all.find(axes[i]);
    good = place != std::string::npos && (i == 0 || place > last);
    last = place;
  }
  if (!good) {
    return Bad(name + ": axes", "\"" + axes + "\"",
               "a subset of \"bhqk\", in that order, that names the " + to_string(a.rank) +
                   " axes of shape " + ShapeText(a));
  }
  bool empty = false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const int64_t size = sizes[all.find(axes[i])];
    if (a.shape[i] != 1 && a.shape[i] != size) {
      return Bad(name + ": axis '" + axes[i] + "'", "of size " + to_string(a.shape[i]),
                 to_string(size) + " or 1 (shape " + ShapeText(a) + ")");
    }
    empty = empty || a.shape[i] == 0;
  }
  if (a.data == nullptr && !empty) return Bad(name, "a null pointer", "bool values");
  return {};
}

Status Check(const Problem& p, const DenseTerm& term) {
  return CheckDense("dense mask", term.values, term.axes, {p.batch, p.heads, p.q_len, p.k_len});
}

Status Check(const Problem& p, const BlocksTerm& term) {
  if (term.block_q < 1) return Bad("blocks: block_q", to_string(term.block_q), "1 or more");
  if (term.block_k < 1) return Bad("blocks: block_k", to_string(term.block_k), "1 or more");
  return CheckDense(
      "blocks", term.values, term.axes,
      {p.batch, p.heads, BlockCount(p.q_len, term.block_q), BlockCount(p.k_len, term.block_k)});
}

Status Check(const Problem&, const FunctionTerm& term) {
  return term.function ? Status() : Bad("function", "empty", "something to call");
}

Status CheckTerms(const Problem& p, const MaskTerms& terms);

Status Check(const Problem& p, const OrTerm& term) {
  for (const auto& one : term.of) {
    if (Status status = CheckTerms(p, *one); !status.ok()) return status;
  }
  return {};
}

Status Check(const Problem& p, const NotTerm& term) { return CheckTerms(p, *term.of); }

Status Check(const Problem&, const TooDeepTerm&) {
  return Bad("mask", "nested too deep",
             "at most " + to_string(kMaxMaskDepth) + " levels of | and ~");
}

Status CheckTerms(const Problem& p, const MaskTerms& terms) {
  for (const Term& term : terms.terms) {
    Status status = std::visit([&](const auto& one) { return Check(p, one); }, term);
    if (!status.ok()) return status;
  }
  return {};
}

}  // namespace

Status CheckDiagonal(const Problem& p, const std::string& name, const mask::Diagonal& d) {
  const int given = d.align.has_value() + d.offset.has_value() + d.offsets.given();
  if (given > 1) {
    return Bad(name + ": diagonal",
               d.align.has_value() ? "given as both align and offset"
                                   : "given as both one offset and one per batch entry",
               "only one of them");
  }
  if (given == 0 && p.q_len != p.k_len) {
    return Status::InvalidArgument(
        name + ": Tq = " + to_string(p.q_len) + " and Tk = " + to_string(p.k_len) +
        " differ and neither align nor offset is given, expected align = top_left (offset 0) or "
        "bottom_right (offset Tk - Tq = " +
        to_string(p.k_len - p.q_len) + "), or an offset");
  }
  if (d.align.has_value() && *d.align != mask::Align::kTopLeft &&
      *d.align != mask::Align::kBottomRight) {
    return Bad(name + ": align", to_string(static_cast<int>(*d.align)), "top_left or bottom_right");
  }
  if (d.offsets.given()) return CheckArray(name + ": offset", d.offsets, true, {p.batch}, "[B]");
  return {};
}

std::string ShapeText(const ConstTensor& tensor) {
  std::string text = "[";
  for (int axis = 0; axis < tensor.rank && axis < ConstTensor::kMaxRank; ++axis) {
    text += (axis > 0 ? ", " : "") + to_string(tensor.shape[axis]);
  }
  if (tensor.rank > ConstTensor::kMaxRank) text += ", ...";
  return text + "]";
}

Status CheckMask(const Problem& problem, const Mask& mask) {
  return mask.terms() == nullptr ? Status() : CheckTerms(problem, *mask.terms());
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
