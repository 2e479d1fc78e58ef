// Plain loops beside the parts of a kernel.
#include "bench/micro/chunk_data.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "bench/hash.h"

namespace skipattn::bench {
namespace {

constexpr size_t kKeys = internal::kChunk;
constexpr float kScale = 0.180336880f;  // log2(e) / sqrt(64): scores as attention has them

// Targets without fma round twice as often; numbers here are of the order of 1.
constexpr double kTolerance = 1e-4;

float Uniform(uint64_t stream, uint64_t n) {  // (0, 1]
  return static_cast<float>((Hash64(stream, n) >> 40) + 1) * 0x1p-24f;
}

bool Same(float got, float want, bool exact) {
  if (exact) return std::memcmp(&got, &want, sizeof(got)) == 0;
  return std::abs(got - want) <= kTolerance;
}

std::string WrongAt(const std::string& what, size_t row, size_t column) {
  return what + " differs from the plain loop at " + std::to_string(row) + ", " +
         std::to_string(column);
}

}  // namespace

ChunkData::ChunkData(size_t rows, size_t lanes, size_t dim, size_t heads)
    : rows_(rows), dim_(dim), scratch_(nullptr, rows, lanes, dim, dim, false) {
  Problem problem;
  problem.batch = 1;
  problem.heads = problem.kv_heads = static_cast<int64_t>(heads);
  problem.q_len = static_cast<int64_t>(rows);
  problem.k_len = kKeys;
  problem.dim = problem.v_dim = static_cast<int64_t>(dim);
  inputs_ = RandomInputs(problem, Layout::kBthd, 4);
  memory_ = Array(1, 1, 1, static_cast<int64_t>(scratch_.floats), Layout::kBhtd);
  memory_.Fill(0);
  scratch_ = internal::TileScratch(memory_.Row(0, 0, 0), rows, lanes, dim, dim, false);
  for (size_t r = 0; r < rows; ++r) q_rows_.push_back(inputs_.q.Row(0, 0, r));
  FillQueries();
}

void ChunkData::FillQueries() {
  for (size_t i = 0; i < dim_; ++i) {
    for (size_t r = 0; r < rows_; ++r) scratch_.qt[i * rows_ + r] = q_rows_[r][i] * kScale;
  }
}

ChunkOperands ChunkData::operands() const {
  ChunkOperands c = {};
  c.rows = rows_;
  c.keys = kKeys;
  c.dim = c.v_dim = dim_;
  c.k = inputs_.k.Row(0, 0, 0);
  c.v = inputs_.v.Row(0, 0, 0);
  c.k_stride = inputs_.k.view.stride[2];
  c.v_stride = inputs_.v.view.stride[2];
  c.qt = scratch_.qt;
  c.s = scratch_.s;
  c.o = scratch_.o;
  c.o_stride = scratch_.o_stride;
  c.state = scratch_.state;
  return c;
}

internal::TileArgs ChunkData::QueryArgs() const {
  internal::TileArgs tile = {};
  tile.rows = rows_;
  tile.q = q_rows_.data();
  tile.dim = dim_;
  tile.q_scale = kScale;
  return tile;
}

std::string ChunkData::CheckTranspose(const Parts& parts) {
  const std::vector<float> want(scratch_.qt, scratch_.qt + dim_ * rows_);
  std::fill_n(scratch_.qt, dim_ * rows_, 0.f);
  parts.transpose(QueryArgs(), rows_, scratch_.qt);
  for (size_t n = 0; n < want.size(); ++n) {
    if (scratch_.qt[n] != want[n]) return WrongAt("transpose", n / rows_, n % rows_);
  }
  return "";
}

std::string ChunkData::CheckScores(ChunkFunction scores, bool exact) {
  const ChunkOperands c = operands();
  scores(c);
  for (size_t n = 0; n < kKeys; ++n) {
    for (size_t r = 0; r < rows_; ++r) {
      float want = 0;
      for (size_t i = 0; i < dim_; ++i) {
        want = std::fma(c.k[static_cast<ptrdiff_t>(n) * c.k_stride + i], c.qt[i * rows_ + r], want);
      }
      if (!Same(c.s[n * rows_ + r], want, exact)) return WrongAt("score", n, r);
    }
  }
  return "";
}

std::string ChunkData::CheckSoftmax(const Parts& parts) {
  const ChunkOperands c = operands();
  std::vector<float> scores(kKeys * rows_);
  for (size_t n = 0; n < scores.size(); ++n) scores[n] = 8 * Uniform(5, n) - 4;
  std::copy(scores.begin(), scores.end(), c.s);
  std::fill_n(c.state.max, rows_, -INFINITY);
  std::fill_n(c.state.sum, rows_, 0.f);
  parts.softmax(c);
  for (size_t r = 0; r < rows_; ++r) {
    double max = -INFINITY, sum = 0;
    for (size_t n = 0; n < kKeys; ++n) max = std::max<double>(max, scores[n * rows_ + r]);
    max = std::ceil(max);
    for (size_t n = 0; n < kKeys; ++n) {
      const double want = std::exp2(scores[n * rows_ + r] - max);
      sum += want;
      const bool near = std::abs(c.s[n * rows_ + r] - want) <= 1e-6 * want;
      if (!near) return WrongAt("weight", n, r);
    }
    const bool near = c.state.max[r] == max && std::abs(c.state.sum[r] - sum) <= 1e-5 * sum;
    if (!near) return WrongAt("state", r, 0);
  }
  return "";
}

std::string ChunkData::CheckWeightedSum(ChunkFunction weighted_sum, bool exact) {
  const ChunkOperands c = operands();
  for (size_t n = 0; n < kKeys * rows_; ++n) c.s[n] = Uniform(6, n) / kKeys;
  for (size_t r = 0; r < rows_; ++r) {
    c.state.keep[r] = c.state.add[r] = 0.5f;  // so that totals stay what they are, call after call
    std::fill_n(c.o + r * c.o_stride, c.o_stride, 1.f);
  }
  weighted_sum(c);
  for (size_t r = 0; r < rows_; ++r) {
    for (size_t i = 0; i < dim_; ++i) {
      float sum = 0;
      for (size_t n = 0; n < kKeys; ++n) {
        sum = std::fma(c.s[n * rows_ + r], c.v[static_cast<ptrdiff_t>(n) * c.v_stride + i], sum);
      }
      const float want = std::fma(1.f, c.state.keep[r], sum * c.state.add[r]);
      if (!Same(c.o[r * c.o_stride + i], want, exact)) return WrongAt("total", r, i);
    }
  }
  return "";
}

}  // namespace skipattn::bench
