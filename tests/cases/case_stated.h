// What a case states in numbers.
#ifndef SKIPATTN_TESTS_CASES_CASE_STATED_H_
#define SKIPATTN_TESTS_CASES_CASE_STATED_H_

#include "tests/cases/case_data.h"
#include "tests/cases/case_float64.h"
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {

/// Puts the numbers of `expect` (its out, lse and rows) in place of computed ones: some are exact
/// zeros that float64 does not give.
void PutStatedNumbers(const Json& expect, const Inputs& x, Float64* want);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_STATED_H_
