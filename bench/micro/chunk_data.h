// One chunk of a tile in memory: what the parts of a kernel work on, and what they should give.
#ifndef SKIPATTN_BENCH_MICRO_CHUNK_DATA_H_
#define SKIPATTN_BENCH_MICRO_CHUNK_DATA_H_

#include <cstddef>
#include <string>
#include <vector>

#include "bench/data.h"
#include "bench/micro/parts.h"
#include "kernels/scratch.h"

namespace skipattn::bench {

/// 128 keys and `rows` query rows, all live. The scratch is divided as a kernel divides it, so
/// that distances in memory are those of a run; but everything is as hot as its size allows.
class ChunkData {
 public:
  /// `heads` heads of `dim` values side by side, of which one is used.
  ChunkData(size_t rows, size_t lanes, size_t dim, size_t heads);

  ChunkOperands operands() const;

  /// The transpose of q reads nothing else of a tile.
  internal::TileArgs QueryArgs() const;

  /// Each fills what its part writes or changes, runs it and compares with plain loops; says what
  /// is wrong, or "". `exact`: to the bit.
  std::string CheckTranspose(const Parts& parts);
  std::string CheckScores(ChunkFunction scores, bool exact);
  std::string CheckSoftmax(const Parts& parts);
  std::string CheckWeightedSum(ChunkFunction weighted_sum, bool exact);

  float* qt() const { return scratch_.qt; }

 private:
  void FillQueries();

  const size_t rows_, dim_;
  Inputs inputs_;
  Array memory_;
  internal::TileScratch scratch_;
  std::vector<const float*> q_rows_;
};

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_MICRO_CHUNK_DATA_H_
