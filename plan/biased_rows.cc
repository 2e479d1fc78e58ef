// Rows of a mask and a bias; see biased_rows.h.
#include "plan/biased_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "plan/bias_value.h"
#include "plan/term_runs.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

std::array<int64_t, 4> SizesOf(const Problem& p) { return {p.batch, p.heads, p.q_len, p.k_len}; }

/// Whether test(first, keys) holds for any row of an array: its first element and how many it has.
/// Axes that broadcast are looked at once.
template <typename Test>
bool AnyRow(const DenseView& view, const std::array<int64_t, 4>& sizes, Test test) {
  int64_t count[4];
  for (size_t axis = 0; axis < 4; ++axis) count[axis] = view.stride[axis] == 0 ? 1 : sizes[axis];
  for (int64_t b = 0; b < count[0]; ++b) {
    for (int64_t h = 0; h < count[1]; ++h) {
      for (int64_t i = 0; i < count[2]; ++i) {
        const int64_t first = b * view.stride[0] + h * view.stride[1] + i * view.stride[2];
        if (test(first, count[3])) return true;
      }
    }
  }
  return false;
}

/// Whether a dense array has any element that is false.
bool AnyLow(const DenseView& view, const std::array<int64_t, 4>& sizes, ScanFunction scan) {
  std::vector<uint64_t> words(static_cast<size_t>(WordsFor(sizes[3])));
  return AnyRow(view, sizes, [&](int64_t first, int64_t keys) {
    ScanElements(view, first, view.stride[3], keys, scan, words.data());
    return BitRow{words.data(), keys}.FirstClear(0, keys) < keys;
  });
}

/// Whether a bias can be soft or -inf anywhere, so that the plan must know where.
bool MayMask(const Problem& p, const Bias& bias, const AttentionOptions& options, ScanFunction scan,
             uint32_t* found) {
  const BiasKind kind = KindOf(bias);
  if (kind == BiasKind::kNone || p.batch == 0 || p.q_len == 0 || p.k_len == 0) return false;
  if (kind != BiasKind::kDense) return BiasFormula(p, bias).MayBeSoft();
  if (!options.bias_is_mask) return false;
  DenseView view = ViewOf(bias::FourAxes(bias.term()->values, bias.term()->axes), "");
  view.reads = Reads::kNotSoft;
  view.found = found;
  return AnyLow(view, SizesOf(p), scan);
}

/// The pairs whose bias is above -inf, or not soft either. `found`: see DenseTerm.
Mask MaskOf(const Problem& problem, const Bias& bias, Reads reads,
            const std::shared_ptr<uint32_t>& found = nullptr) {
  MaskTerms terms;
  if (KindOf(bias) == BiasKind::kDense) {
    const ConstTensor values = bias::FourAxes(bias.term()->values, bias.term()->axes);
    terms.terms.push_back(DenseTerm{values, "", reads, found});
  } else {
    const BiasFormula formula(problem, bias);
    const float most = reads == Reads::kNotSoft ? kMostSoft : -INFINITY;
    terms.terms.push_back(FunctionTerm{[formula, most](int64_t b, int64_t h, int64_t i, int64_t j) {
      return !(formula.At(b, h, i, j) <= most);
    }});
  }
  return Mask(std::make_shared<const MaskTerms>(std::move(terms)));
}

/// The rows of `some`, and of `all` those that `some` lacks.
PlaneRows Merge(PlaneRows some, const PlaneRows& all) {
  PlaneRows merged;
  merged.empty_rows = all.empty_rows;
  merged.sets = some.sets;
  merged.sets.insert(merged.sets.end(), all.sets.begin(), all.sets.end());
  auto bits = std::make_shared<BitMatrix>();
  int64_t some_bits = 0;
  for (const auto& from : {some.bits, all.bits}) {
    if (from == nullptr) continue;
    bits->keys = from->keys;
    bits->words.insert(bits->words.end(), from->words.begin(), from->words.end());
    if (from == some.bits) {
      some_bits = static_cast<int64_t>(bits->words.size()) / WordsFor(bits->keys);
    }
  }
  merged.bits = bits;
  for (size_t document = 0; document < all.origins.size(); ++document) {
    const size_t begin = merged.rows.size();
    const auto add = [&](const PlaneRows& plane, auto use) {
      for (const RowGroup& group : plane.groups) {
        for (size_t n = group.begin; group.document == document && n < group.end; ++n) {
          use(plane.rows[n]);
        }
      }
    };
    add(some, [&](const LiveRow& row) { merged.rows.push_back(row); });
    const size_t middle = merged.rows.size();
    add(all, [&](LiveRow row) {
      const auto live = merged.rows.begin() + static_cast<ptrdiff_t>(middle);
      const auto before = [](const LiveRow& x, const LiveRow& y) { return x.query < y.query; };
      if (std::binary_search(merged.rows.begin() + static_cast<ptrdiff_t>(begin), live, row,
                             before)) {
        return;
      }
      row.set += static_cast<int32_t>(some.sets.size());
      if (row.bits >= 0) row.bits += some_bits;
      merged.rows.push_back(row);
    });
    std::inplace_merge(merged.rows.begin() + static_cast<ptrdiff_t>(begin),
                       merged.rows.begin() + static_cast<ptrdiff_t>(middle), merged.rows.end(),
                       [](const LiveRow& x, const LiveRow& y) { return x.query < y.query; });
    // Soft keys move no grid, unless there are no others.
    const int64_t origin =
        some.origins[document] >= 0 ? some.origins[document] : all.origins[document];
    if (merged.rows.size() > begin) {
      merged.groups.push_back({begin, merged.rows.size(), origin, document});
    }
    merged.origins.push_back(origin);
  }
  return merged;
}

}  // namespace

BiasedRows::BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
                       const AttentionOptions& options, ScanFunction scan)
    : BiasedRows(problem, mask, bias, options, scan, std::make_shared<uint32_t>(kFoundNothing)) {}

BiasedRows::BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
                       const AttentionOptions& options, ScanFunction scan,
                       std::shared_ptr<uint32_t> found)
    : BiasedRows(problem, mask, bias, options, scan, found,
                 MayMask(problem, bias, options, scan, found.get())) {}

BiasedRows::BiasedRows(const Problem& problem, const Mask& mask, const Bias& bias,
                       const AttentionOptions& options, ScanFunction scan,
                       std::shared_ptr<uint32_t> found, bool may_mask)
    : problem_(problem),
      scan_(scan),
      found_(std::move(found)),
      not_soft_(problem, may_mask ? mask & MaskOf(problem, bias, Reads::kNotSoft, found_) : mask,
                options.key_origin, scan) {
  if (!may_mask) return;
  not_masked_.emplace(problem, mask & MaskOf(problem, bias, Reads::kNotMasked), options.key_origin,
                      scan);
  if (KindOf(bias) == BiasKind::kDense) {
    dense_ = bias::FourAxes(bias.term()->values, bias.term()->axes);
  }
}

PlaneRows BiasedRows::Compile(int64_t b, int64_t h) {
  PlaneRows rows = not_soft_.Compile(b, h);
  if (!not_masked_ || !HasSoft(b, h, rows.empty_rows)) return rows;
  has_soft_rows_ = true;
  return Merge(std::move(rows), not_masked_->Compile(b, h));
}

bool BiasedRows::bias_adds_nothing() const {
  return dense_.given() && !has_soft_rows_ && (*found_ & kFoundNonzeroAbove) == 0;
}

bool BiasedRows::bias_looks_masking() const { return (*found_ & kFoundLargeAbove) != 0; }

/// Whether any of these rows may have soft keys.
bool BiasedRows::HasSoft(int64_t b, int64_t h, const Runs& queries) const {
  if (!dense_.given()) return !queries.empty();
  if ((*found_ & kFoundFiniteLow) == 0) return false;  // as of all masks that are made of -inf
  DenseView view = ViewOf(dense_, "");
  const int64_t keys = view.stride[3] == 0 ? 1 : problem_.k_len;
  std::vector<uint64_t> low(static_cast<size_t>(WordsFor(keys))), masked(low.size());
  for (const Run& run : queries) {
    for (int64_t i = run.begin; i < run.end; ++i) {
      const int64_t first = b * view.stride[0] + h * view.stride[1] + i * view.stride[2];
      view.reads = Reads::kNotSoft;
      ScanElements(view, first, view.stride[3], keys, scan_, low.data());
      view.reads = Reads::kNotMasked;
      ScanElements(view, first, view.stride[3], keys, scan_, masked.data());
      if (low != masked) return true;
      if (view.stride[2] == 0) return false;  // all rows are this one
    }
  }
  return false;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
