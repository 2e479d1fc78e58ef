// A case's bias as numbers, and what it masks.
#ifndef SKIPATTN_TESTS_CASES_CASE_BIAS_H_
#define SKIPATTN_TESTS_CASES_CASE_BIAS_H_

#include "tests/cases/case_data.h"
#include "tests/cases/case_mask.h"

namespace skipattn::cases {

/// Every number, an array of `sizes.Pairs()`; zeros without a bias.
Array BiasOfPairs(const CaseMask& bias, const Sizes& sizes);

/// The pairs of a mask, less those whose bias is -inf, less the soft ones of rows that have others.
Array AttendedPairs(const Array& allowed, const Array& bias);

/// The dense bias that holds every number.
CaseMask DenseBias(Array numbers);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_BIAS_H_
