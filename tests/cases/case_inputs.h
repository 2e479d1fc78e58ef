// What a case gives to the library.
#ifndef SKIPATTN_TESTS_CASES_CASE_INPUTS_H_
#define SKIPATTN_TESTS_CASES_CASE_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/cases/case_data.h"
#include "tests/cases/case_mask.h"

namespace skipattn::cases {

/// The place of an input in "qkv".
enum Operand : size_t { kQ, kK, kV, kOperands };

struct Inputs {
  Array qkv[kOperands];  ///< [B, H, T, D], rounded to the type of the case
  DType dtype[kOperands] = {DType::kF32, DType::kF32, DType::kF32};
  CaseMask mask;
  CaseMask bias;
  AttentionOptions options;
  std::vector<float> sinks;  ///< [Hq]; empty = none
  std::string layout = "bhtd";

  Sizes sizes() const {
    return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2], qkv[kK].shape[2]};
  }
  Shape RowsShape() const { return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2]}; }
  Shape OutShape() const {
    return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2], qkv[kV].shape[3]};
  }
};

/// Of an expanded case.
Inputs MakeInputs(const Json& one);

/// A number, or one per batch entry.
std::vector<int64_t> ReadOrigin(const Json& json);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_INPUTS_H_
