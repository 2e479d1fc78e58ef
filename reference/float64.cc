// The operation in float64, and how far the exact arithmetic may be from it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "reference/impl.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr double kLog2E = 1.4426950408889634;
constexpr double kEpsilon = 0x1p-24;  // half an ulp of 1 in f32
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// A score in natural units, and the sum of the sizes of its products in units of log 2.
struct Score {
  double value = 0;
  double size = 0;
};

// Scores outside the range of f32 are infinite: there the exact arithmetic has no finite number.
Score ScoreOf(const ReferenceRow& row, int64_t j) {
  const float* q = row.Query();
  const float* k = row.Key(j);
  Score score;
  for (int64_t d = 0; d < row.dim(); ++d) {
    const double product = row.scale() * q[d] * k[d];
    score.value += product;
    score.size += std::fabs(product) * kLog2E;
  }
  const double log2_value = score.value * kLog2E;
  if (std::isinf(static_cast<float>(log2_value))) {
    score.value = std::copysign(kInfinity, score.value);
  }
  return score;
}

// The larger one, where `x` counts only if it is finite.
double MaxFinite(double max, double x) { return std::isfinite(x) ? std::max(max, x) : max; }

// The bounds of `row`, from its largest Score::size and |v|.
void SetBounds(const ReferenceRow& row, double n, double size, double v, Float64Row* result) {
  const double dim = static_cast<double>(row.dim());
  const double from_scores = kEpsilon * (dim + 2) * size;
  result->out_bound = v * (kEpsilon * (64 + 2 * std::min(n, 128.0) + n / 64) + 2 * from_scores);
  const double lse = std::isfinite(result->lse) ? std::fabs(result->lse) : 0;
  result->lse_bound = 1e-5 * std::max(1.0, lse) + from_scores;
}

}  // namespace

Float64Row EvaluateFloat64(const ReferenceRow& row) {
  const std::vector<int64_t> keys = AllowedKeys(row, 0, row.k_len());
  std::vector<Score> scores;
  double max = -kInfinity, size = 0, largest_v = 0;
  bool nan = false;
  for (int64_t j : keys) {
    scores.push_back(ScoreOf(row, j));
    const Score& score = scores.back();
    nan = nan || std::isnan(score.value) || score.value == kInfinity;
    max = std::max(max, score.value);
    size = MaxFinite(size, score.size);
    const float* v = row.Value(j);
    for (int64_t d = 0; d < row.v_dim(); ++d) largest_v = MaxFinite(largest_v, std::fabs(v[d]));
  }

  Float64Row result;
  const size_t v_dim = static_cast<size_t>(row.v_dim());
  if (nan) {
    result.lse = std::numeric_limits<double>::quiet_NaN();
    result.out.assign(v_dim, result.lse);
    return result;
  }
  result.out.assign(v_dim, 0.0);
  result.lse = -kInfinity;
  if (max == -kInfinity) return result;

  double sum = 0;
  for (const Score& score : scores) sum += std::exp(score.value - max);
  result.lse = max + std::log(sum);
  for (size_t n = 0; n < keys.size(); ++n) {
    const double weight = std::exp(scores[n].value - max) / sum;
    const float* v = row.Value(keys[n]);
    for (size_t d = 0; d < v_dim; ++d) result.out[d] += weight * v[d];
  }
  SetBounds(row, static_cast<double>(keys.size()), size, largest_v, &result);
  return result;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
