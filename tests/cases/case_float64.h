// What a case gives in float64, and how far the exact arithmetic may be from it.
#ifndef SKIPATTN_TESTS_CASES_CASE_FLOAT64_H_
#define SKIPATTN_TESTS_CASES_CASE_FLOAT64_H_

#include <vector>

#include "tests/cases/case_data.h"
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {

struct Float64 {
  std::vector<double> out, lse;  ///< in C order
  std::vector<double> score;  ///< of each row, the largest sum of |q_d k_d| and |bias|, in units of
                              ///< log 2
  std::vector<double> v;      ///< of each row, the largest finite |v| among its keys
  std::vector<double> keys;   ///< of each row, how many keys it attends
};

/// `attended`: the pairs that the mask and the bias leave.
Float64 Evaluate(const Inputs& x, const Array& attended, const Array& bias);

/// What `out` of a row may differ from the exact value, before it is rounded.
double OutBound(const Float64& want, size_t row, int64_t dim);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_FLOAT64_H_
