// The operation in float64, and how far the exact arithmetic may be from it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "reference/impl.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kEpsilon = 0x1p-24;  // half an ulp of 1 in f32
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// In units of log 2: a score, and the sum of the sizes of its products.
struct Score {
  double value = 0;
  double size = 0;
};

// Outside the range of f32 it is infinite: there the exact arithmetic has no finite number.
double ToFloatRange(double x) {
  return std::isinf(static_cast<float>(x)) ? std::copysign(kInfinity, x) : x;
}

Score ScoreOf(const ReferenceRow& row, int64_t j) {
  const float* q = row.Query();
  const float* k = row.Key(j);
  Score score;
  for (int64_t d = 0; d < row.dim(); ++d) {
    const double product = row.scale() * q[d] * k[d] * kLog2E;
    score.value += product;
    score.size += std::fabs(product);
  }
  score.value = ToFloatRange(score.value);
  if (row.softcap() > 0) {
    const double cap = row.softcap() * kLog2E;
    score.value = cap * std::tanh(score.value / cap);
  }
  const double given = row.Bias(j);
  constexpr double kMost = std::numeric_limits<float>::max();
  const double bias = std::isfinite(given) ? std::clamp(given * kLog2E, -kMost, kMost) : given;
  score.value = ToFloatRange(score.value + bias);
  score.size += std::fabs(bias);
  return score;
}

// The larger one, where `x` counts only if it is finite.
double MaxFinite(double max, double x) { return std::isfinite(x) ? std::max(max, x) : max; }

// The mean of v over `keys`, weighed by 2^score, with its bounds. `sink` and the scores are in
// units of log 2, below infinity, and not all -inf.
Float64Row WeightedMean(const ReferenceRow& row, const std::vector<int64_t>& keys,
                        const std::vector<Score>& scores, double sink) {
  double max = sink, size = 0, largest_v = 0;
  for (const Score& score : scores) {
    max = std::max(max, score.value);
    size = MaxFinite(size, score.size);
  }
  double sum = std::exp2(sink - max);
  for (const Score& score : scores) sum += std::exp2(score.value - max);

  Float64Row result;
  result.lse = (max + std::log2(sum)) / kLog2E;
  result.out.assign(static_cast<size_t>(row.v_dim()), 0.0);
  for (size_t n = 0; n < keys.size(); ++n) {
    const double weight = std::exp2(scores[n].value - max) / sum;
    const float* v = row.Value(keys[n]);
    for (size_t d = 0; d < result.out.size(); ++d) {
      result.out[d] += weight * v[d];
      largest_v = MaxFinite(largest_v, std::fabs(v[d]));
    }
  }
  const double n = static_cast<double>(keys.size());
  const double from_scores = kEpsilon * static_cast<double>(row.dim() + 2) * size;
  result.out_bound =
      largest_v * (kEpsilon * (64 + 2 * std::min(n, 128.0) + n / 64) + 2 * from_scores);
  result.lse_bound = 1e-5 * std::max(1.0, std::fabs(result.lse)) + from_scores;
  return result;
}

Float64Row Constant(const ReferenceRow& row, double out, double lse) {
  Float64Row result;
  result.out.assign(static_cast<size_t>(row.v_dim()), out);
  result.lse = lse;
  return result;
}

Float64Row EmptyRow(const ReferenceRow& row) {
  if (row.empty_rows() == EmptyRows::kNan) return Constant(row, kNan, -kInfinity);
  if (row.empty_rows() != EmptyRows::kUniform || row.k_len() == 0) {
    return Constant(row, 0, -kInfinity);
  }
  std::vector<int64_t> keys(static_cast<size_t>(row.k_len()));
  std::iota(keys.begin(), keys.end(), int64_t{0});
  Float64Row result = WeightedMean(row, keys, std::vector<Score>(keys.size()), -kInfinity);
  result.lse = -kInfinity;
  return result;
}

}  // namespace

Float64Row EvaluateFloat64(const ReferenceRow& row) {
  const std::vector<int64_t> keys = AllowedKeys(row, 0, row.k_len());
  const double sink = row.Sink() * kLog2E;
  std::vector<Score> scores;
  double max = sink;
  bool nan = false;
  for (int64_t j : keys) {
    scores.push_back(ScoreOf(row, j));
    const double value = scores.back().value;
    nan = nan || std::isnan(value) || value == kInfinity;
    max = std::max(max, value);
  }
  if (nan) return Constant(row, kNan, kNan);
  if (max == -kInfinity) return EmptyRow(row);
  return WeightedMean(row, keys, scores, sink);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
