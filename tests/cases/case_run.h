// Runs the library on the inputs of a case.
#ifndef SKIPATTN_TESTS_CASES_CASE_RUN_H_
#define SKIPATTN_TESTS_CASES_CASE_RUN_H_

#include <cstddef>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {

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
  bool wrote = false;            ///< anything at all
  bool wrote_elsewhere = false;  ///< after or between the elements of out and lse
};

Outputs Run(const Inputs& inputs, const Way& way);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_RUN_H_
