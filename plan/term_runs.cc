// Single terms; see term_runs.h.
#include "plan/term_runs.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

int64_t AddClamped(int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) sum = a > 0 ? kFar : -kFar;
  return std::clamp(sum, -kFar, kFar);
}

}  // namespace

int64_t OffsetOf(const Problem& problem, const mask::Diagonal& diagonal, int64_t b) {
  if (diagonal.offsets.given()) return IntAt(diagonal.offsets, b);
  if (diagonal.align == mask::Align::kBottomRight) return problem.k_len - problem.q_len;
  return diagonal.offset.value_or(0);
}

Band BandOf(const Problem& problem, const BandTerm& term, int64_t b) {
  const int64_t offset = OffsetOf(problem, term.diagonal, b);
  Band band;
  if (term.left >= 0) band.below = AddClamped(offset, -term.left);
  if (term.right >= 0) band.above = AddClamped(offset, term.right);
  return band;
}

Band BandOf(const Problem& problem, const PrefixTerm& term, int64_t b) {
  Band band;
  band.above = AddClamped(OffsetOf(problem, term.diagonal, b), 0);
  band.prefix = IntAt(term.prefix, b);
  return band;
}

Runs TermRuns(const Problem& problem, const Term& term, bool keys, int64_t b, int64_t h,
              ScanFunction scan) {
  const int64_t length = keys ? problem.k_len : problem.q_len;
  Runs runs;
  if (const auto* range = std::get_if<RangeTerm>(&term); range && range->on_keys == keys) {
    Append(runs, range->begin.given() ? IntAt(range->begin, b) : 0, IntAt(range->end, b));
    return runs;
  }
  if (const auto* valid = std::get_if<ValidTerm>(&term);
      valid && (keys ? valid->on_keys : valid->on_queries)) {
    const ConstTensor& v = valid->valid;
    return BoolRuns(static_cast<const uint8_t*>(v.data) + b * v.stride[0], v.stride[1], length,
                    scan);
  }
  if (const auto* dense = std::get_if<DenseTerm>(&term)) {
    const DenseView view = ViewOf(*dense);
    // An array without either axis counts as one of queries.
    if (keys ? view.stride[2] == 0 && view.stride[3] != 0 : view.stride[3] == 0) {
      std::vector<uint64_t> words(static_cast<size_t>(WordsFor(length)));
      ScanElements(view, b * view.stride[0] + h * view.stride[1], view.stride[keys ? 3 : 2], length,
                   scan, words.data());
      return RunsOf({words.data(), length});
    }
  }
  Append(runs, 0, length);
  return runs;
}

bool IsPlane(const DenseTerm& term) {
  const DenseView view = ViewOf(term);
  return view.stride[2] != 0 && view.stride[3] != 0;
}

void ScanElements(const DenseView& view, int64_t first, int64_t stride, int64_t count,
                  ScanFunction scan, uint64_t* words) {
  const auto scan_with = [&](const auto* data, const auto& scan_packed) {
    using Element = std::remove_const_t<std::remove_pointer_t<decltype(data)>>;
    if (stride == 1) return scan_packed(data, count, words);
    std::vector<Element> packed(static_cast<size_t>(count));
    for (int64_t t = 0; t < count; ++t) packed[static_cast<size_t>(t)] = data[t * stride];
    scan_packed(packed.data(), count, words);
  };
  if (view.reads == Reads::kBool) return scan_with(view.data + first, scan);
  const float most = view.reads == Reads::kNotSoft ? kMostSoft : -INFINITY;
  scan_with(reinterpret_cast<const float*>(view.data) + first,
            [&](const float* data, int64_t size, uint64_t* to) {
              const uint32_t found = ScanAbove(data, size, most, to);
              if (view.found != nullptr) *view.found |= found;
            });
}

Runs BoolRuns(const uint8_t* data, int64_t stride, int64_t count, ScanFunction scan) {
  std::vector<uint64_t> words(static_cast<size_t>(WordsFor(count)));
  ScanElements({data}, 0, stride, count, scan, words.data());
  return RunsOf({words.data(), count});
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
