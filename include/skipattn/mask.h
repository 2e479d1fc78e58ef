// Mask: which keys a query row attends. True means attend.
#ifndef SKIPATTN_MASK_H_
#define SKIPATTN_MASK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "skipattn/tensor.h"

namespace skipattn {
inline namespace v0 {

namespace internal {
struct MaskTerms;
}  // namespace internal

/// A predicate over (batch b, head h, query i, key j). A default Mask allows everything.
///
/// A Mask is a small value that may be copied and combined freely. It borrows the arrays given to
/// its terms: they must stay alive and unchanged until MakePlan (or Attention) has returned. Its
/// arguments are checked there, against the problem's sizes.
///
/// Terms are combined with `&`, `|` and `~`, up to 200 levels deep. One thing depends on how a mask
/// is written: where its rows' chunks begin, and so the last bits of a result. That is the first
/// key that any row attends (any of its document, where Documents is joined by `&` at the top),
/// with the Causal, Window and PrefixCausal terms that are joined by `&` at the top left out and
/// all that is under `|` or `~` taken as it is. With AttentionOptions::key_origin all forms have
/// the same bits.
class SKIPATTN_API Mask {
 public:
  Mask() = default;

  /// Allowed where both are.
  friend SKIPATTN_API Mask operator&(const Mask& a, const Mask& b);
  /// Allowed where at least one is.
  friend SKIPATTN_API Mask operator|(const Mask& a, const Mask& b);
  /// Allowed where `a` is not; `~~a` is `a`.
  friend SKIPATTN_API Mask operator~(const Mask& a);
  Mask& operator&=(const Mask& other) { return *this = *this & other; }
  Mask& operator|=(const Mask& other) { return *this = *this | other; }

  /// For the library itself.
  explicit Mask(std::shared_ptr<const internal::MaskTerms> terms) : terms_(std::move(terms)) {}
  const internal::MaskTerms* terms() const { return terms_.get(); }

 private:
  std::shared_ptr<const internal::MaskTerms> terms_;
};

namespace mask {

/// Which key a query stands at, for causal and window masks: key i + offset for query i.
enum class Align : uint8_t {
  kTopLeft,      ///< offset 0: query 0 stands at key 0
  kBottomRight,  ///< offset Tk - Tq: the last query stands at the last key (decoding with a cache)
};

/// The offset of the diagonal. If Tq != Tk, one of `align` and an offset must be given; both is
/// an error.
struct Diagonal {
  std::optional<Align> align;
  std::optional<int64_t> offset;
  ConstTensor offsets;  ///< one per batch entry, [B] i32 or i64

  Diagonal() = default;
  Diagonal(Align a) : align(a) {}                       // NOLINT: meant to convert
  Diagonal(int64_t o) : offset(o) {}                    // NOLINT
  Diagonal(int o) : offset(o) {}                        // NOLINT: so that a literal is no ambiguity
  Diagonal(const ConstTensor& each) : offsets(each) {}  // NOLINT
  template <typename T>
  Diagonal(const std::vector<T>& each) : offsets(each) {}  // NOLINT
  template <typename T>
  Diagonal(const std::vector<T>&& each) = delete;  // it is borrowed
};

/// j < lengths[b]. `lengths`: [B] i32 or i64, each in [0, Tk].
SKIPATTN_API Mask KeyLengths(const ConstTensor& lengths);
/// begin[b] <= j < end[b]. [B] i32 or i64, each in [0, Tk]; begin > end allows nothing.
SKIPATTN_API Mask KeyRange(const ConstTensor& begin, const ConstTensor& end);
/// valid[b, j]. `valid`: [B, Tk] bool, any strides.
SKIPATTN_API Mask KeyValid(const ConstTensor& valid);

/// i < lengths[b]: a row beyond it has no allowed key. `lengths`: [B] in [0, Tq].
SKIPATTN_API Mask QueryLengths(const ConstTensor& lengths);
/// begin[b] <= i < end[b]. [B] in [0, Tq].
SKIPATTN_API Mask QueryRange(const ConstTensor& begin, const ConstTensor& end);
/// valid[b, i]. `valid`: [B, Tq] bool.
SKIPATTN_API Mask QueryValid(const ConstTensor& valid);

/// valid[b, i] and valid[b, j], for self-attention (Tq = Tk). `valid`: [B, T] bool.
SKIPATTN_API Mask Padding(const ConstTensor& valid);

/// j <= i + offset.
SKIPATTN_API Mask Causal(const Diagonal& diagonal = {});
/// i + offset - left <= j <= i + offset + right, both ends included. -1 = no limit on that side.
SKIPATTN_API Mask Window(int64_t left, int64_t right, const Diagonal& diagonal = {});

/// j < prefix[b] or j <= i + offset: a prefix that all rows see, causal after it. `prefix`: [B] i32
/// or i64, each in [0, Tk].
SKIPATTN_API Mask PrefixCausal(const ConstTensor& prefix, const Diagonal& diagonal = {});

/// q_ids[b, i] = k_ids[b, j], and neither is negative. [B, Tq] and [B, Tk], i32 or i64.
SKIPATTN_API Mask Documents(const ConstTensor& q_ids, const ConstTensor& k_ids);
/// The same from boundaries: document n holds queries [cu_seqlens_q[n], cu_seqlens_q[n + 1]) and
/// keys likewise. Needs B = 1; both arrays rise from 0, to Tq and Tk.
SKIPATTN_API Mask DocumentsFromBoundaries(const ConstTensor& cu_seqlens_q,
                                          const ConstTensor& cu_seqlens_k);

/// The element itself. `values`: bool, any strides. `axes` names its axes, a subset of "bhqk" in
/// that order, for example "bk" for key padding or "qk"; it may be left out for rank 4. An axis of
/// size 1 broadcasts. `h` counts query heads.
SKIPATTN_API Mask Dense(const ConstTensor& values, const std::string& axes = "");

/// The element of block (i / block_q, j / block_k). `values`: bool as of Dense, but the axes q and
/// k count blocks: ceil(Tq / block_q) and ceil(Tk / block_k), or 1.
SKIPATTN_API Mask Blocks(const ConstTensor& values, const std::string& axes, int64_t block_q,
                         int64_t block_k);

/// f(b, h, i, j), `h` a query head. Called while planning only, by the thread that plans, for any
/// pair any number of times and in any order, so it must give the same answer each time; it may be
/// called for every pair of every head, so a term or an array is far cheaper. What it throws
/// becomes the status of MakePlan.
SKIPATTN_API Mask Function(std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> f);

}  // namespace mask
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_MASK_H_
