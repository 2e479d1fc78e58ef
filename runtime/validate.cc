// Argument checks; see validate.h. The checks of a run build no text while all is well.
#include "runtime/validate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <string>

#include "plan/bias_term.h"
#include "plan/check_mask.h"
#include "runtime/overlap.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using std::to_string;

Status Bad(const std::string& what, const std::string& is, const std::string& expected) {
  return Status::InvalidArgument(what + " is " + is + ", expected " + expected);
}

constexpr int64_t kMostBytes = int64_t{1} << 62;

// Whether a product, with zeros taken as ones, is at most `most`: no part of it overflows then.
bool ProductFits(std::initializer_list<int64_t> sizes, int64_t most) {
  for (int64_t size : sizes) {
    if (size > 0) most /= size;
  }
  return most > 0;
}

Status CheckBytes(const char* name, std::initializer_list<int64_t> shape) {
  if (ProductFits(shape, kMostBytes / static_cast<int64_t>(sizeof(float)))) return {};
  return Bad(name, "of shape " + ShapeText(ConstTensor(nullptr, DType::kF32, shape)),
             "at most 2^62 bytes");
}

Status CheckDType(const char* name, DType dtype) {
  if (dtype == DType::kF32) return {};
  return Bad(name, DTypeName(dtype), "f32");
}

std::string Number(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%g", value);
  return text;
}

// What a view must be, with the names that an error needs.
struct ExpectedView {
  const char* name;
  DType dtype;
  const char* axes;
  int rank;
  int64_t shape[ConstTensor::kMaxRank];
};

std::string Text(const ExpectedView& expected) {
  ConstTensor view;
  view.rank = expected.rank;
  for (int axis = 0; axis < expected.rank; ++axis) view.shape[axis] = expected.shape[axis];
  return std::string(DTypeName(expected.dtype)) + " [" + expected.axes + "] = " + ShapeText(view);
}

Status CheckView(const ConstTensor& view, const ExpectedView& expected) {
  const size_t element = DTypeSize(expected.dtype);
  bool same = view.rank == expected.rank, empty = false;
  for (int axis = 0; same && axis < expected.rank; ++axis) {
    same = view.shape[axis] == expected.shape[axis];
    empty = empty || view.shape[axis] == 0;
  }
  const auto bad = [&](const char* what, const std::string& is, const std::string& should) {
    return Bad(std::string(expected.name) + what, is, should);
  };
  if (!view.given()) return bad("", "not given", Text(expected));
  if (view.rank != expected.rank) {
    return bad(": rank", to_string(view.rank),
               to_string(expected.rank) + ": [" + expected.axes + "]");
  }
  if (view.dtype != expected.dtype) {
    return bad(": dtype", DTypeName(view.dtype), DTypeName(expected.dtype));
  }
  if (!same) return bad(": shape", ShapeText(view), Text(expected));
  if (view.data == nullptr && !empty) return bad("", "a null pointer", Text(expected));
  if (reinterpret_cast<uintptr_t>(view.data) % element != 0) {
    return bad(": data", "not aligned", "a multiple of " + to_string(element) + " bytes");
  }
  return {};
}

Status CheckLastStride(const char* name, const ConstTensor& view) {
  const int last = view.rank - 1;
  if (view.shape[last] <= 1 || view.stride[last] == 1) return {};
  return Bad(std::string(name) + ": last stride", to_string(view.stride[last]),
             "1; other axes may have any stride");
}

Status CheckTensor(const ConstTensor& view, const ExpectedView& expected) {
  if (Status status = CheckView(view, expected); !status.ok()) return status;
  return CheckLastStride(expected.name, view);
}

std::string StridesText(const ConstTensor& view) {
  ConstTensor strides = view;
  for (int axis = 0; axis < view.rank; ++axis) strides.shape[axis] = view.stride[axis];
  return ShapeText(strides);
}

bool SameView(const ConstTensor& a, const ConstTensor& b) {
  return a.data == b.data && std::equal(a.shape, a.shape + a.rank, b.shape, b.shape + b.rank) &&
         std::equal(a.stride, a.stride + a.rank, b.stride);
}

Status CheckOverlap(const RunArgs& args) {
  const ConstCarry& in = args.carry_in;
  const struct Named {
    const char* name;
    ConstTensor view;
  } read[] = {{"q", args.q},
              {"k", args.k},
              {"v", args.v},
              {"bias", args.bias},
              {"sinks", args.sinks},
              {"carry_in.max", in.max},
              {"carry_in.sum", in.sum},
              {"carry_in.out", in.out}},
    written[] = {{"out", args.out},
                 {"lse", args.lse},
                 {"carry_out.max", args.carry_out.max},
                 {"carry_out.sum", args.carry_out.sum},
                 {"carry_out.out", args.carry_out.out}};
  for (const Named& one : written) {
    if (!one.view.given()) continue;
    if (MayOverlapItself(one.view)) {
      return Bad(std::string(one.name) + ": strides",
                 StridesText(one.view) + " for shape " + ShapeText(one.view),
                 "strides that keep all elements apart");
    }
    for (const Named& other : read) {
      // A state may go on in its own place.
      const bool same = std::strncmp(one.name, "carry_out", 9) == 0 &&
                        std::strncmp(other.name, "carry_in", 8) == 0 &&
                        std::strcmp(one.name + 9, other.name + 8) == 0 &&
                        SameView(one.view, other.view);
      if (!other.view.given() || same) continue;
      if (MayOverlap(one.view, other.view)) {
        return Bad(one.name, std::string("in the memory of ") + other.name, "memory of its own");
      }
    }
    for (const Named& other : written) {
      if (&other >= &one) break;
      if (other.view.given() && MayOverlap(one.view, other.view)) {
        return Bad(one.name, std::string("in the memory of ") + other.name, "memory of its own");
      }
    }
  }
  return {};
}

// More than any machine has; OpenMP runtimes end the process over a number they cannot start.
constexpr int kMostThreads = 4096;

Status CheckThreads(int threads, const char* zero_means) {
  if (threads >= 0 && threads <= kMostThreads) return {};
  return Bad("threads", to_string(threads),
             std::string("0 (") + zero_means + ") to " + to_string(kMostThreads));
}

Status CheckWorkspace(const RunArgs& args) {
  if (args.workspace == nullptr) {
    if (args.workspace_bytes == 0) return {};
    return Bad("workspace", "null with " + to_string(args.workspace_bytes) + " bytes",
               "memory, or null with 0 bytes");
  }
  const uintptr_t beyond = reinterpret_cast<uintptr_t>(args.workspace) % 64;
  if (beyond == 0) return {};
  return Bad("workspace", to_string(beyond) + " bytes beyond a multiple of 64",
             "an address that is a multiple of 64");
}

template <typename Enum>
Status CheckEnum(const char* name, Enum value, Enum last, const char* names) {
  if (value <= last) return {};
  return Bad(name, to_string(static_cast<int>(value)), names);
}

}  // namespace

Status CheckProblem(const Problem& p) {
  const struct {
    const char* name;
    int64_t size, least;
  } sizes[] = {{"batch", p.batch, 0}, {"heads", p.heads, 1}, {"kv_heads", p.kv_heads, 1},
               {"q_len", p.q_len, 0}, {"k_len", p.k_len, 0}, {"dim", p.dim, 1},
               {"v_dim", p.v_dim, 1}};
  for (const auto& one : sizes) {
    if (one.size < one.least) {
      return Bad(one.name, to_string(one.size), to_string(one.least) + " or more");
    }
  }
  if (p.heads % p.kv_heads != 0) {
    return Bad("kv_heads", to_string(p.kv_heads), "a divisor of heads = " + to_string(p.heads));
  }
  if (Status s = CheckDType("q_dtype", p.q_dtype); !s.ok()) return s;
  if (Status s = CheckDType("kv_dtype", p.kv_dtype); !s.ok()) return s;
  if (Status s = CheckDType("out_dtype", p.out_dtype); !s.ok()) return s;
  if (Status s = CheckBytes("q", {p.batch, p.heads, p.q_len, p.dim}); !s.ok()) return s;
  if (Status s = CheckBytes("k", {p.batch, p.kv_heads, p.k_len, p.dim}); !s.ok()) return s;
  if (Status s = CheckBytes("v", {p.batch, p.kv_heads, p.k_len, p.v_dim}); !s.ok()) return s;
  if (Status s = CheckBytes("out", {p.batch, p.heads, p.q_len, p.v_dim}); !s.ok()) return s;
  if (!ProductFits({p.batch, p.heads, p.q_len, p.k_len}, kMostBytes)) {
    const ConstTensor pairs(nullptr, DType::kBool, {p.batch, p.heads, p.q_len, p.k_len});
    return Bad("batch * heads * q_len * k_len", "the product of " + ShapeText(pairs),
               "at most 2^62");
  }
  return {};
}

Status CheckSoftcap(double softcap) {
  if (softcap == 0) return {};
  // A normal number of f32 in units of log 2 too, as scores are divided by it.
  constexpr double kLeast = 1e-38, kMost = 2e38;
  if (softcap >= kLeast && softcap <= kMost) return {};
  return Bad("softcap", Number(softcap), "0 (none) or a number from 1e-38 to 2e38");
}

Status CheckOptions(const Problem& problem, const AttentionOptions& options) {
  // Finite in f32 as well, times log2(e): otherwise every score would be infinite or NaN.
  constexpr double kMaxScale = std::numeric_limits<float>::max() / 1.4426950408889634;
  if (options.scale.has_value() && !(std::fabs(*options.scale) <= kMaxScale)) {
    return Bad("scale", Number(*options.scale), "a finite number of at most " + Number(kMaxScale));
  }
  Status status = CheckSoftcap(options.softcap);
  if (!status.ok()) return status;
  status = CheckEnum("empty_rows", options.empty_rows, EmptyRows::kNan,
                     "0 (zero), 1 (keep), 2 (uniform) or 3 (nan)");
  if (!status.ok()) return status;
  status = CheckEnum("precision", options.precision, Precision::kExact, "0 (exact)");
  if (!status.ok()) return status;
  status = CheckEnum("backend", options.backend, Backend::kReference, "0 (auto) or 1 (reference)");
  if (!status.ok()) return status;
  status = CheckEnum("skipping", options.skipping, Skipping::kOff, "0 (on) or 1 (off)");
  if (!status.ok()) return status;
  const size_t origins = options.key_origin.size();
  if (origins > 1 && origins != static_cast<size_t>(problem.batch)) {
    return Bad("key_origin", "of " + to_string(origins) + " values",
               "none, one, or one per batch entry (" + to_string(problem.batch) + ")");
  }
  return CheckThreads(options.threads, "all that the process may use");
}

// An input that is given where, and only where, the problem has it.
Status CheckGiven(const char* name, bool expected, const ConstTensor& view) {
  if (view.given() == expected) return {};
  return expected ? Bad(name, "not given", "an array, as the problem says")
                  : Bad(name, "given", "none, as the problem has none");
}

Status CheckSinks(const Problem& p, const ConstTensor& sinks) {
  if (Status status = CheckGiven("sinks", p.sinks, sinks); !status.ok()) return status;
  if (!p.sinks) return {};
  Status status = CheckView(sinks, {"sinks", DType::kF32, "heads", 1, {p.heads}});
  if (!status.ok()) return status;
  for (int64_t h = 0; h < p.heads; ++h) {
    const float sink = static_cast<const float*>(sinks.data)[h * sinks.stride[0]];
    if (sink <= 1e30f) continue;
    return Bad("sinks[" + to_string(h) + "]", Number(sink), "at most 1e30, or -inf for none");
  }
  return {};
}

Status CheckCarry(const Problem& p, const std::string& name, const ConstCarry& carry) {
  const std::string max = name + ".max", sum = name + ".sum", out = name + ".out";
  const auto rows = [&](const std::string& part, const ConstTensor& view) {
    return CheckView(
        view, {part.c_str(), DType::kF32, "batch, heads, q_len", 3, {p.batch, p.heads, p.q_len}});
  };
  if (Status status = rows(max, carry.max); !status.ok()) return status;
  if (Status status = rows(sum, carry.sum); !status.ok()) return status;
  return CheckTensor(carry.out, {out.c_str(),
                                 DType::kF32,
                                 "batch, heads, q_len, v_dim",
                                 4,
                                 {p.batch, p.heads, p.q_len, p.v_dim}});
}

Status CheckInputs(const Problem& p, const RunArgs& args) {
  Status status = CheckTensor(
      args.q, {"q", p.q_dtype, "batch, heads, q_len, dim", 4, {p.batch, p.heads, p.q_len, p.dim}});
  if (!status.ok()) return status;
  status = CheckTensor(
      args.k,
      {"k", p.kv_dtype, "batch, kv_heads, k_len, dim", 4, {p.batch, p.kv_heads, p.k_len, p.dim}});
  if (!status.ok()) return status;
  status = CheckTensor(args.v, {"v",
                                p.kv_dtype,
                                "batch, kv_heads, k_len, v_dim",
                                4,
                                {p.batch, p.kv_heads, p.k_len, p.v_dim}});
  if (!status.ok()) return status;
  if (status = CheckGiven("bias", p.bias, args.bias); !status.ok()) return status;
  if (p.bias) {
    if (status = CheckBiasView(p, args.bias); !status.ok()) return status;
  }
  if (status = CheckSinks(p, args.sinks); !status.ok()) return status;
  if (!args.carry_in.given()) return {};
  return CheckCarry(p, "carry_in", args.carry_in);
}

namespace {

Status CheckRest(const RunArgs& args) {
  if (Status status = CheckOverlap(args); !status.ok()) return status;
  if (Status status = CheckWorkspace(args); !status.ok()) return status;
  return CheckThreads(args.threads, "the plan's");
}

}  // namespace

Status CheckRun(const Problem& p, const RunArgs& args) {
  if (Status status = CheckInputs(p, args); !status.ok()) return status;
  if (args.carry_out.given()) {
    if (args.out.given() || args.lse.given()) {
      return Bad(args.out.given() ? "out" : "lse", "given beside carry_out",
                 "none: the last run writes it");
    }
    const ConstCarry out = {args.carry_out.max, args.carry_out.sum, args.carry_out.out};
    if (Status status = CheckCarry(p, "carry_out", out); !status.ok()) return status;
    return CheckRest(args);
  }
  Status status = CheckTensor(
      args.out,
      {"out", p.out_dtype, "batch, heads, q_len, v_dim", 4, {p.batch, p.heads, p.q_len, p.v_dim}});
  if (!status.ok()) return status;
  if (args.lse.given()) {
    status = CheckView(args.lse,
                       {"lse", DType::kF32, "batch, heads, q_len", 3, {p.batch, p.heads, p.q_len}});
    if (!status.ok()) return status;
  }
  return CheckRest(args);
}

Status CheckMerge(const MergeArgs& args) {
  const ConstTensor& first = args.out_a;
  if (first.rank != 4) return Bad("out_a: rank", to_string(first.rank), "4");
  const int64_t* n = first.shape;
  const struct Named {
    const char* name;
    ConstTensor view;
    bool rows;  // [batch, heads, q_len] only
  } views[] = {{"out_a", args.out_a, false}, {"lse_a", args.lse_a, true},
               {"out_b", args.out_b, false}, {"lse_b", args.lse_b, true},
               {"out", args.out, false},     {"lse", args.lse, true}};
  for (const Named& one : views) {
    const Status status =
        one.rows ? CheckView(one.view,
                             {one.name, DType::kF32, "batch, heads, q_len", 3, {n[0], n[1], n[2]}})
                 : CheckTensor(one.view, {one.name,
                                          DType::kF32,
                                          "batch, heads, q_len, v_dim",
                                          4,
                                          {n[0], n[1], n[2], n[3]}});
    if (!status.ok()) return status;
  }
  for (const Named* one = views + 4; one < views + 6; ++one) {
    if (MayOverlapItself(one->view)) {
      return Bad(std::string(one->name) + ": strides",
                 StridesText(one->view) + " for shape " + ShapeText(one->view),
                 "strides that keep all elements apart");
    }
    for (const Named* other = views; other < one; ++other) {
      const bool in_place = one->rows == other->rows && SameView(one->view, other->view);
      if (in_place || !MayOverlap(one->view, other->view)) continue;
      return Bad(one->name, std::string("in the memory of ") + other->name,
                 "memory of its own, or just that of an input of its kind");
    }
  }
  return {};
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
