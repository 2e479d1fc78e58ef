// The operation in float64, one row after the other; see case_float64.h.
#include "tests/cases/case_float64.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

namespace skipattn::cases {
namespace {

constexpr double kLog2E = 1.4426950408889634;

/// A score beyond the range of float32 is infinite there.
double ToFloatRange(double x) {
  return std::isinf(static_cast<float>(x)) ? std::copysign(INFINITY, x) : x;
}

void RaiseTo(double value, double* largest) {
  if (std::isfinite(value)) *largest = std::max(*largest, std::abs(value));
}

/// Query row (b, h, i) and what it attends.
class Row {
 public:
  Row(const Inputs& x, const Array& allowed, const Array& bias, int64_t row) : x_(x) {
    const Shape& q = x.qkv[kQ].shape;
    const Shape& k = x.qkv[kK].shape;
    const int64_t h = row / q[2] % q[1], b = row / q[2] / q[1];
    const int64_t kv_head = b * k[1] + h / (q[1] / k[1]);
    dim_ = q[3];
    v_dim_ = x.qkv[kV].shape[3];
    bias_ = bias.values.data() + row * k[2];
    k_len_ = k[2];
    if (!x.sinks.empty()) sink_ = x.sinks[static_cast<size_t>(h)] * kLog2E;
    q_ = x.qkv[kQ].values.data() + row * dim_;
    k_ = x.qkv[kK].values.data() + kv_head * k[2] * dim_;
    v_ = x.qkv[kV].values.data() + kv_head * k[2] * v_dim_;
    for (int64_t j = 0; j < k[2]; ++j) {
      if (allowed.values[static_cast<size_t>(row * k[2] + j)] != 0) keys_.push_back(j);
    }
  }

  void Evaluate(size_t row, Float64* result) {
    Score(&result->score[row]);
    result->keys[row] = static_cast<double>(keys_.size());
    const double top = Largest();
    double* out = result->out.data() + row * static_cast<size_t>(v_dim_);
    if (top == -INFINITY) {  // an empty row
      result->score[row] = 0;
      if (sink_ > -INFINITY) {
        result->lse[row] = sink_ / kLog2E;
      } else if (x_.options.empty_rows == EmptyRows::kNan) {
        std::fill_n(out, v_dim_, NAN);
      } else if (x_.options.empty_rows == EmptyRows::kUniform) {
        keys_.resize(static_cast<size_t>(k_len_));
        std::iota(keys_.begin(), keys_.end(), int64_t{0});
        result->keys[row] = static_cast<double>(k_len_);
        AddValues(std::vector<double>(keys_.size(), 1.0 / static_cast<double>(k_len_)), out,
                  &result->v[row]);
      }
      return;
    }
    if (!(top < INFINITY)) {
      std::fill_n(out, v_dim_, NAN);
      result->lse[row] = NAN;
      return;
    }
    const double all = std::max(top, sink_);
    double sum = std::exp2(sink_ - all);
    for (double score : scores_) sum += std::exp2(score - all);
    std::vector<double> weights;
    for (double score : scores_) weights.push_back(std::exp2(score - all) / sum);
    AddValues(weights, out, &result->v[row]);
    result->lse[row] = (all + std::log2(sum)) / kLog2E;
  }

 private:
  void AddValues(const std::vector<double>& weights, double* out, double* largest) const {
    for (size_t n = 0; n < keys_.size(); ++n) {
      for (int64_t d = 0; d < v_dim_; ++d) {
        out[d] += weights[n] * v_[keys_[n] * v_dim_ + d];
        RaiseTo(v_[keys_[n] * v_dim_ + d], largest);
      }
    }
  }

  void Score(double* largest) {
    const double scale = x_.options.scale.value_or(1 / std::sqrt(static_cast<double>(dim_)));
    const double cap = x_.options.softcap;
    for (int64_t j : keys_) {
      double score = 0, magnitude = 0;
      for (int64_t d = 0; d < dim_; ++d) {
        const double term = k_[j * dim_ + d] * q_[d] * scale;
        score += term;
        magnitude += std::abs(term);
      }
      score = ToFloatRange(score);
      if (cap > 0) score = cap * std::tanh(score / cap);
      constexpr double kMost = std::numeric_limits<float>::max();
      const double bias =
          std::isfinite(bias_[j]) ? std::clamp(bias_[j] * kLog2E, -kMost, kMost) : bias_[j];
      scores_.push_back(ToFloatRange(score * kLog2E + bias));
      RaiseTo(magnitude * kLog2E + std::abs(bias), largest);
    }
  }

  /// NaN if any is, -inf if there is none.
  double Largest() const {
    double largest = -INFINITY;
    for (double score : scores_) {
      if (std::isnan(score)) return score;
      largest = std::max(largest, score);
    }
    return largest;
  }

  const Inputs& x_;
  int64_t dim_, v_dim_, k_len_;
  double sink_ = -INFINITY;  // in units of log 2
  const double *q_, *k_, *v_, *bias_;
  std::vector<int64_t> keys_;
  std::vector<double> scores_;  // in units of log 2
};

}  // namespace

Float64 Evaluate(const Inputs& x, const Array& attended, const Array& bias) {
  const auto rows = static_cast<size_t>(CountOf(x.RowsShape()));
  Float64 result;
  result.out.assign(static_cast<size_t>(CountOf(x.OutShape())), 0.0);
  result.lse.assign(rows, -INFINITY);
  for (auto* each : {&result.score, &result.v, &result.keys}) each->assign(rows, 0.0);
  for (size_t row = 0; row < rows; ++row) {
    Row(x, attended, bias, static_cast<int64_t>(row)).Evaluate(row, &result);
  }
  return result;
}

double OutBound(const Float64& want, size_t row, int64_t dim) {
  const double n = want.keys[row];
  return 0x1p-24 * want.v[row] *
         (64 + 2 * static_cast<double>(dim + 2) * want.score[row] + 2 * std::min(n, 128.0) +
          n / 64);
}

}  // namespace skipattn::cases
