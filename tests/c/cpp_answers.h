// The same questions asked through the C++ interface, for C programs to compare with.
#ifndef SKIPATTN_TESTS_C_CPP_ANSWERS_H_
#define SKIPATTN_TESTS_C_CPP_ANSWERS_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { kHeads = 4, kKvHeads = 2, kLength = 37, kDim = 20, kVDim = 12, kMostBatch = 2, kTable = 9 };

/// A problem, and every array that a mask term may want.
typedef struct Inputs {
  int64_t batch;
  float q[kMostBatch * kHeads * kLength * kDim];
  float k[kMostBatch * kKvHeads * kLength * kDim];
  float v[kMostBatch * kKvHeads * kLength * kVDim];
  int64_t lengths[kMostBatch];
  int32_t begin[kMostBatch];
  int32_t end[kMostBatch];
  int64_t offsets[kMostBatch];
  uint8_t valid[kMostBatch * kLength];
  int32_t ids[kMostBatch * kLength];
  int64_t boundaries[4];
  uint8_t dense[kLength * kLength];
  float sinks[kHeads];
  float slopes[kHeads];
  float table[kHeads * kTable];
  float bias[kHeads * kLength * kLength];
} Inputs;
enum { kBlockQ = 5, kBlockK = 4, kBlocksQ = 8, kBlocksK = 10 };

/// What a mask function of both programs says; `lengths` are those of the inputs.
static inline int Allows(const int64_t* lengths, int64_t b, int64_t h, int64_t i, int64_t j) {
  return j < lengths[b] && (h + 2 * i + j) % 3 != 1;
}

/// What a run writes.
typedef struct Outputs {
  float out[kMostBatch * kHeads * kLength * kVDim];
  float lse[kMostBatch * kHeads * kLength];
} Outputs;

/// The masks, one of each term and some joined; 0 is everything.
enum Term {
  kEverything,
  kKeyLengths,
  kKeyRange,
  kKeyValid,
  kQueryLengths,
  kQueryRange,
  kQueryValid,
  kPadding,
  kCausal,
  kCausalBottomRight,
  kCausalOffset,
  kWindow,
  kWindowOffsets,
  kDocuments,
  kDocumentsFromBoundaries,
  kPrefixCausal,        // n: begin
  kPrefixCausalOffset,  // the offset -3
  kDense,
  kBlocks,    // 5 x 4 of a corner of dense
  kFunction,  // Allows
  kJoined,    // key_lengths and causal and dense
  kEither,    // key_lengths and causal, or not dense
  kTerms
};

/// The biases, one of each kind.
enum BiasTerm {
  kNoBias,
  kDenseBias,    // [heads, q, k]: numbers, some of them -inf
  kMaskingBias,  // [q, k]: 0 where `dense` is true, else -inf, which is the first plane of them
  kAlibi,        // the offsets
  kRelative,     // bottom right
  kBiases
};

/// Everything about a plan that the programs look at.
typedef struct CppStats {
  int64_t live_pairs, dense_pairs, empty_rows, tiles, skipped_blocks, full_blocks, partial_blocks;
  int needs_bias;
  size_t workspace_bytes;  // for 3 threads
  char config[64], target[64], text[16384];
} CppStats;

/// Each returns 0 if all went well. `scale` 0 = none given; `sinks`: whether there are.
int CppAttention(const Inputs* inputs, int term, double scale, Outputs* outputs);
int CppScores(const Inputs* inputs, int term, double softcap, int bias, int sinks,
              Outputs* outputs);
/// Over all keys, the chunk grid beginning at key `origin`.
int CppFromOrigin(const Inputs* inputs, int64_t origin, Outputs* outputs);
/// Of results over two sets of keys.
int CppMerge(int64_t batch, const Outputs* a, const Outputs* b, Outputs* outputs);
int CppEmptyRowsAreNan(const Inputs* inputs, int term, Outputs* outputs);
int CppPlanStats(const Inputs* inputs, int term, int bias, CppStats* stats);

/// The target at an index: its name and whether it is supported and exact, and its lanes; the
/// configuration at an index of a target. Not 0 beyond the last.
int CppTarget(size_t index, char name[64], int numbers[3]);
int CppConfig(const char* target, size_t index, char name[64]);
int CppAvailableThreads(void);
const char* CppVersion(void);
int CppArithmeticVersion(void);

#ifdef __cplusplus
}
#endif

#endif  // SKIPATTN_TESTS_C_CPP_ANSWERS_H_
