// Row by row against the reference, one batch entry at a time: a reference for the whole problem
// would hold a table of every (query, key) pair of every head.
#include "bench/verify.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "bench/hash.h"

namespace skipattn::bench {
namespace {

constexpr double kSmallProblem = 1 << 25;  // multiply-adds: all rows take a fraction of a second
constexpr int kRowsBetween = 8;

int64_t KeyHead(const Problem& p, int64_t h) { return h / (p.heads / p.kv_heads); }

// One batch entry and head of a tensor, as a tensor.
template <typename T>
T Slice(T view, int64_t b, int64_t h) {
  using Byte = std::conditional_t<std::is_same_v<T, Tensor>, char, const char>;
  const int64_t elements = b * view.stride[0] + h * view.stride[1];
  view.data =
      static_cast<Byte*>(view.data) + elements * static_cast<int64_t>(DTypeSize(view.dtype));
  view.shape[0] = view.shape[1] = 1;
  return view;
}

RunArgs SliceArgs(const Case& c, const RunArgs& args, int64_t b, int64_t h) {
  const Problem& p = c.spec.problem;
  RunArgs one = args;
  one.q = Slice(args.q, b, h);
  one.k = Slice(args.k, b, KeyHead(p, h));
  one.v = Slice(args.v, b, KeyHead(p, h));
  one.out = Slice(args.out, b, h);
  if (one.sinks.given()) one.sinks.shape[0] = 1;
  if (c.spec.form == MaskForm::kBias) {  // the runs went without
    const size_t plane = c.spec.lengths.empty() ? 0 : static_cast<size_t>(b * p.q_len * p.k_len);
    one.bias = ConstTensor(c.bias_values.data() + plane, {1, 1, p.q_len, p.k_len});
  }
  return one;
}

const float* RowOf(const ConstTensor& out, int64_t b, int64_t h, int64_t i) {
  return static_cast<const float*>(out.data) + b * out.stride[0] + h * out.stride[1] +
         i * out.stride[2];
}

std::set<int64_t> EntriesToCheck(const CaseSpec& spec) {
  std::set<int64_t> entries = {0, spec.problem.batch - 1};
  if (!spec.lengths.empty()) {
    const auto ends = std::minmax_element(spec.lengths.begin(), spec.lengths.end());
    entries.insert(ends.first - spec.lengths.begin());
    entries.insert(ends.second - spec.lengths.begin());
  }
  return entries;
}

std::set<int64_t> PositionsToCheck(const CaseSpec& spec, int64_t b) {
  const int64_t len = spec.problem.q_len;
  const int64_t live = spec.lengths.empty() ? len : spec.lengths[b];
  std::set<int64_t> positions;
  for (int64_t i : {int64_t{0}, int64_t{1}, int64_t{127}, int64_t{128}, live - 1, live, len - 1}) {
    if (i >= 0 && i < len) positions.insert(i);
  }
  for (int n = 0; n < kRowsBetween; ++n) {
    positions.insert(static_cast<int64_t>(Hash64(b, n) % static_cast<uint64_t>(len)));
  }
  return positions;
}

struct RowCheck {
  double max_abs_err = 0;
  bool bound_ok = true;
  bool bits_equal = true;
};

Result<RowCheck> CheckRow(const Reference& reference, const RunArgs& one, const Problem& p,
                          int64_t i, const float* unwritten) {
  std::vector<float> exact(p.v_dim);
  float lse = 0;
  Status status = reference.ExactRow(one, 0, 0, i, exact.data(), &lse);
  if (!status.ok()) return status;
  const Result<Float64Row> row64 = reference.Row64(one, 0, 0, i);
  if (!row64.ok()) return row64.status();

  const float* got = RowOf(one.out, 0, 0, i);
  RowCheck check;
  if (unwritten != nullptr && std::isinf(lse) && lse < 0) {
    check.bits_equal = check.bound_ok =
        std::all_of(got, got + p.v_dim, [&](float x) { return x == *unwritten; });
    return check;
  }
  for (int64_t d = 0; d < p.v_dim; ++d) {
    const double error = std::abs(got[d] - row64->out[d]);
    check.bound_ok &= error <= row64->out_bound;  // false for NaN too
    check.max_abs_err = std::max(check.max_abs_err, error);
  }
  check.bits_equal = std::memcmp(got, exact.data(), exact.size() * sizeof(float)) == 0;
  return check;
}

Result<Reference> ReferenceOf(const CaseSpec& spec, int64_t b, const AttentionOptions& options) {
  const Result<Case> entry = MakeCase(EntryOf(spec, b));
  if (!entry.ok()) return entry.status();
  return Reference::Make(entry->spec.problem, entry->mask, entry->bias, options);
}

}  // namespace

std::vector<Row> RowsToCheck(const CaseSpec& spec) {
  const Problem& p = spec.problem;
  std::vector<Row> rows;
  if (p.batch == 0 || p.q_len == 0) return rows;
  const double work = 1.0 * p.batch * p.heads * p.q_len * p.k_len * (p.dim + p.v_dim);
  if (work <= kSmallProblem) {
    for (int64_t b = 0; b < p.batch; ++b) {
      for (int64_t h = 0; h < p.heads; ++h) {
        for (int64_t i = 0; i < p.q_len; ++i) rows.push_back({b, h, i});
      }
    }
    return rows;
  }
  // Where there are few positions, several heads of each.
  int64_t h = 0;
  for (int64_t b : EntriesToCheck(spec)) {
    const std::set<int64_t> positions = PositionsToCheck(spec, b);
    const int64_t times =
        std::clamp<int64_t>(kRowsBetween / static_cast<int64_t>(positions.size()), 1, p.heads);
    for (int64_t n = 0; n < times; ++n) {
      for (int64_t i : positions) rows.push_back({b, h++ % p.heads, i});
    }
  }
  return rows;
}

Result<Verification> Verify(const Case& c, const AttentionOptions& options, const RunArgs& args,
                            float unwritten) {
  const float* kept = options.empty_rows == EmptyRows::kKeep ? &unwritten : nullptr;
  Verification all;
  std::map<int64_t, Reference> references;
  for (const Row& row : RowsToCheck(c.spec)) {
    auto at = references.find(row.b);
    if (at == references.end()) {
      Result<Reference> made = ReferenceOf(c.spec, row.b, options);
      if (!made.ok()) return made.status();
      at = references.emplace(row.b, std::move(made).value()).first;
    }
    const RunArgs one = SliceArgs(c, args, row.b, row.h);
    const Result<RowCheck> check = CheckRow(at->second, one, c.spec.problem, row.i, kept);
    if (!check.ok()) return check.status();
    ++all.rows;
    all.max_abs_err = std::max(all.max_abs_err, check->max_abs_err);
    if (all.first_wrong.empty() && !(check->bound_ok && check->bits_equal)) {
      all.first_wrong = "b " + std::to_string(row.b) + " h " + std::to_string(row.h) + " i " +
                        std::to_string(row.i);
    }
    all.bound_ok &= check->bound_ok;
    all.bits_equal &= check->bits_equal;
  }
  return all;
}

uint64_t HashOf(const ConstTensor& out) {
  uint64_t hash = kFnvStart;
  for (int64_t b = 0; b < out.shape[0]; ++b) {
    for (int64_t h = 0; h < out.shape[1]; ++h) {
      for (int64_t i = 0; i < out.shape[2]; ++i) {
        hash =
            Fnv1a64(RowOf(out, b, h, i), static_cast<size_t>(out.shape[3]) * sizeof(float), hash);
      }
    }
  }
  return hash;
}

}  // namespace skipattn::bench
