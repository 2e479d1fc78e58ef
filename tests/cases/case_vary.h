// Changes of a case that must not change a bit of the rows that are compared.
#ifndef SKIPATTN_TESTS_CASES_CASE_VARY_H_
#define SKIPATTN_TESTS_CASES_CASE_VARY_H_

#include <cstdint>
#include <vector>

#include "tests/cases/case_data.h"
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {

struct Variation {
  Inputs inputs;
  int64_t first_b = 0, first_i = 0;  ///< where its batch entries and queries begin in the case
  std::vector<bool> compared;        ///< of each row of the case
};

/// `change`: an entry of same_bits_as. `allowed`: the pairs of `x.mask`.
Variation Vary(const Inputs& x, const Array& allowed, const Json& change);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_VARY_H_
