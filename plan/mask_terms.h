// What a Mask holds: a conjunction of terms as they were given, which may hold masks in turn, and
// how their arrays are read.
#ifndef SKIPATTN_PLAN_MASK_TERMS_H_
#define SKIPATTN_PLAN_MASK_TERMS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "skipattn/mask.h"
#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// begin[b] <= t < end[b] for the key or the query position t; `begin` not given = 0.
struct RangeTerm {
  const char* name;
  bool on_keys;
  ConstTensor begin, end;
};

/// valid[b, t] for the query position, the key position, or both (padding).
struct ValidTerm {
  const char* name;
  bool on_queries, on_keys;
  ConstTensor valid;
};

/// i + offset - left <= j <= i + offset + right; -1 = unbounded. Causal is left -1, right 0.
struct BandTerm {
  const char* name;
  int64_t left, right;
  mask::Diagonal diagonal;
};

/// j < prefix[b] or j <= i + offset.
struct PrefixTerm {
  ConstTensor prefix;
  mask::Diagonal diagonal;
};

/// Ids per token, or the boundaries of each document.
struct DocumentsTerm {
  bool boundaries;
  ConstTensor q, k;
};

/// What an element of a dense array says: bools themselves; of a bias, f32, whether it is above
/// -inf, or above kMostSoft.
enum class Reads : uint8_t { kBool, kNotMasked, kNotSoft };

/// A bias up to this, but for -inf, is soft: masked in rows that attend any other key.
inline constexpr float kMostSoft = -1e30f;

struct DenseTerm {
  ConstTensor values;
  std::string axes;
  Reads reads = Reads::kBool;
  std::shared_ptr<uint32_t> found;  // of a bias: gathers what the scans of its numbers find
};

/// The element of block (i / block_q, j / block_k).
struct BlocksTerm {
  ConstTensor values;
  std::string axes;
  int64_t block_q, block_k;
};

struct FunctionTerm {
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> function;
};

struct MaskTerms;

/// At least one of these holds.
struct OrTerm {
  std::vector<std::shared_ptr<const MaskTerms>> of;
};

struct NotTerm {
  std::shared_ptr<const MaskTerms> of;
};

/// Stands for a mask that was nested too deep to be kept.
struct TooDeepTerm {};

using Term = std::variant<RangeTerm, ValidTerm, BandTerm, PrefixTerm, DocumentsTerm, DenseTerm,
                          BlocksTerm, FunctionTerm, OrTerm, NotTerm, TooDeepTerm>;

/// Masks are walked by recursion, so their depth has a limit.
inline constexpr int kMaxMaskDepth = 200;

struct MaskTerms {
  std::vector<Term> terms;  // joined by "and"; none = everything is allowed
  int depth = 0;            // of what "or" and "not" hold
};

/// What a mask function has thrown.
struct MaskFunctionError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The function's answer; anything that it throws becomes a MaskFunctionError.
bool CallFunction(const FunctionTerm& term, int64_t b, int64_t h, int64_t i, int64_t j);

/// The expression for people, cut where it is long: "key_lengths & (causal | window(8, 0))".
std::string MaskText(const Mask& mask);

/// Element (i0, i1) of an i32 or i64 array of one or two axes.
inline int64_t IntAt(const ConstTensor& a, int64_t i0, int64_t i1 = 0) {
  const int64_t at = i0 * a.stride[0] + i1 * a.stride[1];
  return a.dtype == DType::kI32 ? static_cast<const int32_t*>(a.data)[at]
                                : static_cast<const int64_t*>(a.data)[at];
}

/// Element (i0, i1) of a bool array.
inline bool BoolAt(const ConstTensor& a, int64_t i0, int64_t i1) {
  return static_cast<const uint8_t*>(a.data)[i0 * a.stride[0] + i1 * a.stride[1]] != 0;
}

/// A dense array as all four axes "bhqk"; broadcast axes have stride 0, in elements.
struct DenseView {
  const uint8_t* data = nullptr;  // the floats of a bias too
  int64_t stride[4] = {};
  Reads reads = Reads::kBool;
  uint32_t* found = nullptr;  // see DenseTerm

  /// Of bools.
  bool At(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return data[b * stride[0] + h * stride[1] + i * stride[2] + j * stride[3]] != 0;
  }
};

inline DenseView ViewOf(const ConstTensor& values, const std::string& given_axes) {
  static constexpr char kAxes[] = "bhqk";
  DenseView view;
  view.data = static_cast<const uint8_t*>(values.data);
  const std::string& axes = given_axes.empty() ? kAxes : given_axes;
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    const size_t place = std::string(kAxes).find(axes[axis]);
    if (values.shape[axis] > 1) view.stride[place] = values.stride[axis];
  }
  return view;
}

inline DenseView ViewOf(const DenseTerm& term) {
  DenseView view = ViewOf(term.values, term.axes);
  view.reads = term.reads;
  view.found = term.found.get();
  return view;
}

/// How many blocks cover a length.
inline int64_t BlockCount(int64_t length, int64_t block) {
  return length / block + (length % block != 0);
}

/// Its elements are blocks.
inline DenseView ViewOf(const BlocksTerm& term) { return ViewOf(term.values, term.axes); }

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_MASK_TERMS_H_
