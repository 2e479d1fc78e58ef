// Integers throughout, turned into floats by a power of two: no compiler, libm or fma can make
// another number of them, so hashes of outputs may be compared between machines.
#include "bench/data.h"

#include <algorithm>
#include <new>

#include "bench/hash.h"

namespace skipattn::bench {
namespace {

constexpr int kEmbedding = 32;  // width of a token's embedding: enough that scores vary freely
constexpr uint64_t kPaddingToken = 0;

enum Stream : uint64_t { kQ, kK, kV, kTokens };

uint64_t SeedOf(uint64_t seed, Stream stream) { return Hash64(seed, stream); }

// A sum of four uniform numbers is close enough to normal: [-510, 510], deviation 148.
int32_t SmallNormal(uint64_t seed, uint64_t counter) {
  const uint64_t bits = Hash64(seed, counter);
  int32_t sum = -510;
  for (int n = 0; n < 4; ++n) sum += static_cast<int32_t>((bits >> (8 * n)) & 0xFF);
  return sum;
}

// The same from 16-bit numbers, deviation 1.15.
float Normal(uint64_t seed, uint64_t counter) {
  const uint64_t bits = Hash64(seed, counter);
  int32_t sum = -2 * 0xFFFF;
  for (int n = 0; n < 4; ++n) sum += static_cast<int32_t>((bits >> (16 * n)) & 0xFFFF);
  return static_cast<float>(sum) * 0x1p-15f;
}

void FillRandom(const Array& array, uint64_t seed) {
  const int64_t* shape = array.view.shape;
  uint64_t counter = 0;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t t = 0; t < shape[2]; ++t) {
        float* row = array.Row(b, h, t);
        for (int64_t d = 0; d < shape[3]; ++d) row[d] = Normal(seed, counter++);
      }
    }
  }
}

// Triangle waves of six periods: near positions look alike. [-256, 256]
int32_t PositionEmbedding(int64_t t, int e) {
  const int64_t period = int64_t{8} << (e % 6);
  const int64_t fold = 2 * (t % period) - period;
  return static_cast<int32_t>((fold < 0 ? -fold : fold) * 512 / period - 256);
}

// [position][kEmbedding] of one sequence.
std::vector<int32_t> Embed(const Tokens& tokens, int64_t len, uint64_t seed) {
  std::vector<int32_t> embedded(len * kEmbedding);
  for (int64_t t = 0; t < len; ++t) {
    const uint64_t token = t < static_cast<int64_t>(tokens.size()) ? tokens[t] : kPaddingToken;
    for (int e = 0; e < kEmbedding; ++e) {
      embedded[t * kEmbedding + e] =
          SmallNormal(SeedOf(seed, kTokens) ^ token, e) + PositionEmbedding(t, e);
    }
  }
  return embedded;
}

// out_d = sum_e x_e w_de. At most 32 * 766 * 510 < 2^24, so the float is exact.
void Project(const int32_t* x, const std::vector<int32_t>& weights, int64_t dim, float* out) {
  for (int64_t d = 0; d < dim; ++d) {
    const int32_t* w = &weights[d * kEmbedding];
    int32_t sum = 0;
    for (int e = 0; e < kEmbedding; ++e) sum += x[e] * w[e];
    out[d] = static_cast<float>(sum) * 0x1p-17f;
  }
}

void FillProjected(const Array& array, const std::vector<std::vector<int32_t>>& embedded,
                   uint64_t seed) {
  const int64_t* shape = array.view.shape;
  const int64_t dim = shape[3];
  std::vector<int32_t> weights(dim * kEmbedding);
  for (int64_t h = 0; h < shape[1]; ++h) {
    for (size_t n = 0; n < weights.size(); ++n) weights[n] = SmallNormal(seed + h, n);
    for (int64_t b = 0; b < shape[0]; ++b) {
      for (int64_t t = 0; t < shape[2]; ++t) {
        Project(&embedded[b][t * kEmbedding], weights, dim, array.Row(b, h, t));
      }
    }
  }
}

Inputs Allocate(const Problem& p, Layout layout) {
  return {Array(p.batch, p.heads, p.q_len, p.dim, layout),
          Array(p.batch, p.kv_heads, p.k_len, p.dim, layout),
          Array(p.batch, p.kv_heads, p.k_len, p.v_dim, layout)};
}

}  // namespace

Array::Array(int64_t b, int64_t h, int64_t t, int64_t d, Layout layout) {
  constexpr size_t kAlignment = 64;
  constexpr double kMaxElements = 1e12;  // beyond it the product below could overflow
  if (static_cast<double>(b) * h * t * d > kMaxElements) throw std::bad_alloc();
  const size_t bytes = static_cast<size_t>(b * h * t * d) * sizeof(float);
  const size_t padded = (std::max(bytes, size_t{1}) + kAlignment - 1) / kAlignment * kAlignment;
  memory.reset(static_cast<float*>(std::aligned_alloc(kAlignment, padded)));
  if (memory == nullptr) throw std::bad_alloc();
  view = layout == Layout::kBhtd ? Tensor(memory.get(), {b, h, t, d})
                                 : Tensor(memory.get(), {b, t, h, d}).SwapAxes(1, 2);
}

float* Array::Row(int64_t b, int64_t h, int64_t t) const {
  return memory.get() + b * view.stride[0] + h * view.stride[1] + t * view.stride[2];
}

void Array::Fill(float value) {
  const int64_t* shape = view.shape;
  std::fill_n(memory.get(), shape[0] * shape[1] * shape[2] * shape[3], value);
}

Inputs RandomInputs(const Problem& problem, Layout layout, uint64_t seed) {
  Inputs inputs = Allocate(problem, layout);
  FillRandom(inputs.q, SeedOf(seed, kQ));
  FillRandom(inputs.k, SeedOf(seed, kK));
  FillRandom(inputs.v, SeedOf(seed, kV));
  return inputs;
}

Inputs TextInputs(const Problem& problem, const std::vector<Tokens>& sequences, Layout layout,
                  uint64_t seed) {
  Inputs inputs = Allocate(problem, layout);
  std::vector<std::vector<int32_t>> embedded;
  for (int64_t b = 0; b < problem.batch; ++b) {
    embedded.push_back(Embed(sequences[b], std::max(problem.q_len, problem.k_len), seed));
  }
  FillProjected(inputs.q, embedded, SeedOf(seed, kQ));
  FillProjected(inputs.k, embedded, SeedOf(seed, kK));
  FillProjected(inputs.v, embedded, SeedOf(seed, kV));
  return inputs;
}

RunArgs ArgsOf(const Inputs& inputs, const Array& out) {
  RunArgs args;
  args.q = inputs.q.view;
  args.k = inputs.k.view;
  args.v = inputs.v.view;
  args.out = out.view;
  return args;
}

}  // namespace skipattn::bench
