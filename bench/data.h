// Inputs and outputs of a run: q, k and v that are the same on every machine.
#ifndef SKIPATTN_BENCH_DATA_H_
#define SKIPATTN_BENCH_DATA_H_

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/text.h"
#include "skipattn/attention.h"

namespace skipattn::bench {

/// Order of the axes in memory; views are {batch, head, position, dim} with either.
enum class Layout : uint8_t {
  kBhtd,  ///< a head's rows are contiguous
  kBthd,  ///< a token's heads are contiguous, as a projection leaves them
};

struct FreeDeleter {
  void operator()(void* data) const { std::free(data); }
};

/// A f32 array of four axes that owns its memory, aligned to cache lines.
struct Array {
  std::unique_ptr<float, FreeDeleter> memory;
  Tensor view;

  Array() = default;
  Array(int64_t b, int64_t h, int64_t t, int64_t d, Layout layout);

  float* Row(int64_t b, int64_t h, int64_t t) const;
  void Fill(float value);
};

/// What one problem reads.
struct Inputs {
  Array q, k, v;
};

/// Seeded numbers, close to normal, mean 0, variance 4/3.
Inputs RandomInputs(const Problem& problem, Layout layout, uint64_t seed);

/// Projections of token embeddings, as in a first layer: each token id has a seeded embedding, each
/// position adds its own, and each head projects by seeded matrices. Scores have a standard
/// deviation of about 2. Sequences shorter than the problem go on with a padding token.
Inputs TextInputs(const Problem& problem, const std::vector<Tokens>& sequences, Layout layout,
                  uint64_t seed);

/// The arguments of a run that writes `out`.
RunArgs ArgsOf(const Inputs& inputs, const Array& out);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_DATA_H_
