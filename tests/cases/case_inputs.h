// What a case gives to the library, and what it gets back.
#ifndef SKIPATTN_TESTS_CASES_CASE_INPUTS_H_
#define SKIPATTN_TESTS_CASES_CASE_INPUTS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/cases/case_data.h"
#include "tests/cases/case_mask.h"

namespace skipattn::cases {

/// q, k, v or something made of them, by their names' place in "qkv".
enum Operand : size_t { kQ, kK, kV, kOperands };

struct Inputs {
  Array qkv[kOperands];  ///< [B, H, T, D], rounded to the type of the case
  DType dtype[kOperands] = {DType::kF32, DType::kF32, DType::kF32};
  CaseMask mask;
  AttentionOptions options;
  std::string layout = "bhtd";

  Sizes sizes() const {
    return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2], qkv[kK].shape[2]};
  }
  Shape OutShape() const {
    return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2], qkv[kV].shape[3]};
  }
  Shape RowsShape() const { return {qkv[kQ].shape[0], qkv[kQ].shape[1], qkv[kQ].shape[2]}; }
};

/// Of an expanded case.
Inputs MakeInputs(const Json& one);

/// A number, or one per batch entry.
std::vector<int64_t> ReadOrigin(const Json& json);

/// One of the ways to compute that must all give the same bits.
struct Way {
  std::string name;
  std::string target, config;
  Backend backend = Backend::kAuto;
  Skipping skipping = Skipping::kOn;
};

/// Every exact target that this CPU can run, with its default configuration and with another one
/// that depends on `number`; all blocks computed; the reference.
std::vector<Way> WaysFor(size_t number);

struct Outputs {
  Status status;
  std::vector<float> out, lse;   ///< in C order
  bool wrote_elsewhere = false;  ///< around or between the elements of out and lse
  bool wrote = false;            ///< anything at all
};

Outputs Run(const Inputs& inputs, const Way& way);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_INPUTS_H_
