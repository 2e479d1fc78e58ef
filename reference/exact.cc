// The exact arithmetic as plain loops: the definition, to the last bit, of what every kernel gives.
// All of it is binary32, round to nearest even; multiply-adds are fused where std::fma is written
// and nowhere else (the build sets -ffp-contract=off).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "reference/impl.h"

#ifdef __FAST_MATH__
#error "The exact arithmetic is defined to the last bit: compile without -ffast-math."
#endif

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr double kLog2E = 1.4426950408889634;
constexpr float kLog2EFloat = 0x1.715476p+0f;
constexpr float kLn2 = 0x1.62e43p-1f;
constexpr float kMaxFloat = std::numeric_limits<float>::max();
constexpr int64_t kChunkKeys = 128;

// Below 2^-125 a weight is 0: P(f) is above 1/2, so no weight is ever subnormal.
constexpr float kLeastExponent = -125.0f;

// P(f), close to 2^f on [-1/2, 1/2].
float P(float f) {
  float p = 0x1.41fbbcp-13f;
  p = std::fma(p, f, 0x1.5f3e52p-10f);
  p = std::fma(p, f, 0x1.3b2d52p-7f);
  p = std::fma(p, f, 0x1.c6aefap-5f);
  p = std::fma(p, f, 0x1.ebfbd8p-3f);
  p = std::fma(p, f, 0x1.62e43p-1f);
  return std::fma(p, f, 1.0f);
}

// 2^e for an integer e <= 0; 0 below 2^-125, NaN for NaN.
float PowerOfTwo(float e) {
  if (std::isnan(e)) return e;
  return e < kLeastExponent ? 0.0f : std::ldexp(1.0f, static_cast<int>(e));
}

// p_j, for an integer m >= x. The comparison comes first: it turns x = -inf into 0.
float Weight(float x, float m) {
  const float e = std::rint(x) - m;
  return e < kLeastExponent ? 0.0f : P(x - std::rint(x)) * PowerOfTwo(e);
}

// The maximum, NaN if either is.
float MaxOrNaN(float a, float b) { return b > a || std::isnan(b) ? b : a; }

// Operand order and platform decide the bits of a NaN otherwise.
float Canonical(float x) {
  if (!std::isnan(x)) return x;
  const uint32_t bits = 0x7fc00000u;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

// The end of the chunk that key j is in, for a grid that has a boundary at `origin`.
int64_t ChunkEnd(int64_t j, int64_t origin) {
  const int64_t in_grid = (j % kChunkKeys + kChunkKeys - origin % kChunkKeys) % kChunkKeys;
  return j + kChunkKeys - in_grid;
}

// q'_d = q_d * c
std::vector<float> ScaledQuery(const ReferenceRow& row) {
  const float c = static_cast<float>(row.scale() * kLog2E);
  const float* q = row.Query();
  std::vector<float> scaled(static_cast<size_t>(row.dim()));
  for (size_t d = 0; d < scaled.size(); ++d) scaled[d] = q[d] * c;
  return scaled;
}

// s_j
float Score(const std::vector<float>& q, const float* k) {
  float s = 0.0f;
  for (size_t d = 0; d < q.size(); ++d) s = std::fma(k[d], q[d], s);
  return s;
}

// A score with the cap, if there is one.
float Capped(float s, float g) { return g > 0 ? g * Tanh(s / g) : s; }

// A number in natural units, of the caller's, in log2 units. Finite numbers stay finite.
float InLog2Units(float x) {
  return std::isfinite(x) ? std::clamp(x * kLog2EFloat, -kMaxFloat, kMaxFloat) : x;
}

// What one chunk, or all of them so far, adds up to: weights are relative to 2^m.
struct Sums {
  explicit Sums(int64_t v_dim) : o(static_cast<size_t>(v_dim), 0.0f) {}

  float m = -kInfinity;
  float l = 0.0f;
  std::vector<float> o;
};

// x_j of each key.
std::vector<float> Exponents(const ReferenceRow& row, const std::vector<float>& q,
                             const std::vector<int64_t>& keys) {
  const float g = static_cast<float>(row.softcap() * kLog2E);
  std::vector<float> x;
  for (int64_t j : keys) {
    x.push_back(Capped(Score(q, row.Key(j)), g) + InLog2Units(row.Bias(j)));
  }
  return x;
}

// m_c, l_c and o_c of the chunk made of `keys`.
Sums SumChunk(const ReferenceRow& row, const std::vector<int64_t>& keys,
              const std::vector<float>& x) {
  float max = -kInfinity;
  for (float one : x) max = MaxOrNaN(max, one);
  Sums chunk(row.v_dim());
  chunk.m = std::ceil(max);
  if (chunk.m == -kInfinity) return chunk;
  for (size_t n = 0; n < keys.size(); ++n) {
    const float p = Weight(x[n], chunk.m);
    const float* v = row.Value(keys[n]);
    chunk.l += p;
    for (size_t d = 0; d < chunk.o.size(); ++d) chunk.o[d] = std::fma(p, v[d], chunk.o[d]);
  }
  return chunk;
}

// total = total and then chunk
void Fold(const Sums& chunk, Sums* total) {
  if (chunk.m == -kInfinity) return;
  const float m = MaxOrNaN(total->m, chunk.m);
  const float a = PowerOfTwo(total->m - m);
  const float b = PowerOfTwo(chunk.m - m);
  total->l = std::fma(total->l, a, chunk.l * b);
  for (size_t d = 0; d < chunk.o.size(); ++d) {
    total->o[d] = std::fma(total->o[d], a, chunk.o[d] * b);
  }
  total->m = m;
}

// The fold over the keys that the row attends, after those of earlier runs.
Sums FoldKeys(const ReferenceRow& row) {
  Sums total(row.v_dim());
  if (row.CarriedMax() != nullptr) {
    total.m = *row.CarriedMax();
    total.l = *row.CarriedSum();
    std::copy_n(row.CarriedOut(), row.v_dim(), total.o.begin());
  }
  std::vector<float> q;  // read at the first attended key: an empty row's is not looked at
  for (int64_t begin = 0, end; begin < row.k_len(); begin = end) {
    end = std::min(row.k_len(), ChunkEnd(begin, row.Origin()));
    const std::vector<int64_t> keys = AllowedKeys(row, begin, end);
    if (keys.empty()) continue;
    if (q.empty()) q = ScaledQuery(row);
    Fold(SumChunk(row, keys, Exponents(row, q, keys)), &total);
  }
  return total;
}

// A sink is one more chunk, without a value.
void FoldSink(float sink, Sums* total) {
  const float y = InLog2Units(sink);
  Sums chunk(static_cast<int64_t>(total->o.size()));
  chunk.m = std::ceil(y);
  if (chunk.m == -kInfinity) return;
  chunk.l = Weight(y, chunk.m);
  Fold(chunk, total);
}

// The fold over all keys, masked or not, as if all scores were 0.
Sums FoldUniform(const ReferenceRow& row) {
  Sums total(row.v_dim());
  for (int64_t begin = 0, end; begin < row.k_len(); begin = end) {
    end = std::min(row.k_len(), begin + kChunkKeys);
    std::vector<int64_t> keys;
    for (int64_t j = begin; j < end; ++j) keys.push_back(j);
    Fold(SumChunk(row, keys, std::vector<float>(keys.size(), 0.0f)), &total);
  }
  return total;
}

void WriteOut(const Sums& total, float* out) {
  const float inverse = total.m == -kInfinity ? 0.0f : 1.0f / total.l;
  for (size_t d = 0; d < total.o.size(); ++d) {
    out[d] = Canonical(std::fma(total.o[d], inverse, 0.0f));
  }
}

void WriteEmptyRow(const ReferenceRow& row, float* out) {
  switch (row.empty_rows()) {
    case EmptyRows::kKeep:
      return;
    case EmptyRows::kZero:
      return WriteOut(Sums(row.v_dim()), out);
    case EmptyRows::kUniform:
      return WriteOut(FoldUniform(row), out);
    case EmptyRows::kNan:
      std::fill_n(out, row.v_dim(), Canonical(std::numeric_limits<float>::quiet_NaN()));
  }
}

}  // namespace

// log2 of a positive normal l = 2^e * m with m in [sqrt(1/2), sqrt(2)): e + t * Q(t), t = m - 1,
// which is exact. Q is a minimax fit of log2(1 + t) / t by degree 8; its coefficients were then
// moved by a search over the error of the whole function. The error is at most 1.76 ulp, found over
// all l in [1/4, 4) (at 0x1.57fed2p+0; degree 7 gives more than 2 ulp, degree 9 no less than 1.58)
// and less above. Powers of two are exact.
float Log2(float l) {
  int32_t bits;
  std::memcpy(&bits, &l, sizeof(bits));
  const int32_t e = (bits - 0x3f3504f3) >> 23;
  bits -= e * (1 << 23);
  float m;
  std::memcpy(&m, &bits, sizeof(m));
  const float t = m - 1.0f;
  float q = 0x1.015416p-3f;
  q = std::fma(q, t, -0x1.a86ae2p-3f);
  q = std::fma(q, t, 0x1.b9cd82p-3f);
  q = std::fma(q, t, -0x1.e95ecap-3f);
  q = std::fma(q, t, 0x1.26d384p-2f);
  q = std::fma(q, t, -0x1.715b76p-2f);
  q = std::fma(q, t, 0x1.ec73c6p-2f);
  q = std::fma(q, t, -0x1.715478p-1f);
  q = std::fma(q, t, 0x1.715476p+0f);
  return std::fma(t, q, static_cast<float>(e));
}

// tanh. Below 0.625, x + x^3 * Q(x^2), where Q is a minimax fit of degree 4 of the relative error;
// above, 1 - 2 / (e^2|x| + 1) with the sign of x, the power of e by P. At 10 it has long been 1.
// The error is at most 1.63 ulp, found over all x from 2^-14 to 10 (at 0x1.42d842p-1); below 0.625
// it is 0.75 ulp, and x itself comes back where it is tiny.
float Tanh(float x) {
  const float a = std::fabs(x);
  if (!(a >= 0.625f)) {  // NaN too
    const float z = x * x;
    float q = -0x1.759214p-8f;
    q = std::fma(q, z, 0x1.521578p-6f);
    q = std::fma(q, z, -0x1.b839d8p-5f);
    q = std::fma(q, z, 0x1.110714p-3f);
    q = std::fma(q, z, -0x1.555532p-2f);
    return std::fma(z * x, q, x);
  }
  const float y = std::min(a, 10.0f) * 0x1.715476p+1f;  // 2 log2(e)
  const float power = std::ldexp(P(y - std::rint(y)), static_cast<int>(std::rint(y)));
  return std::copysign(1.0f - 2.0f / (power + 1.0f), x);
}

void EvaluateState(const ReferenceRow& row, float* max, float* sum, float* out) {
  const Sums total = FoldKeys(row);
  *sum = Canonical(total.l);
  *max = std::isnan(total.l) ? *sum : total.m;
  for (size_t d = 0; d < total.o.size(); ++d) out[d] = Canonical(total.o[d]);
}

void EvaluateExact(const ReferenceRow& row, float* out, float* lse) {
  Sums total = FoldKeys(row);
  FoldSink(row.Sink(), &total);
  const bool empty = total.m == -kInfinity;
  if (empty) {
    WriteEmptyRow(row, out);
  } else {
    WriteOut(total, out);
  }
  if (lse == nullptr) return;
  // A NaN score makes l NaN (and a +inf score does), whose bits Log2 would take for a number's.
  const float log2_l = std::isnan(total.l) ? total.l : Log2(total.l);
  *lse = empty ? -kInfinity : Canonical((total.m + log2_l) * kLn2);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
