// Changes of a case that must not change a bit of the rows that are compared.
#ifndef SKIPATTN_TESTS_CASES_CASE_VARY_H_
#define SKIPATTN_TESTS_CASES_CASE_VARY_H_

#include <cstdint>
#include <vector>

#include "tests/cases/case_bias.h"
#include "tests/cases/case_data.h"
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {

struct Variation {
  Inputs inputs;
  int64_t first_b = 0, first_i = 0;  ///< where its batch entries and queries begin in the case
  std::vector<bool> compared;        ///< of each row of the case
};

/// What is said of each pair, arrays of `sizes.Pairs()`.
struct Pairs {
  explicit Pairs(const Inputs& x)
      : allowed(AllowedPairs(x.mask, x.sizes())),
        bias(BiasOfPairs(x.bias, x.sizes())),
        attended(AttendedPairs(allowed, bias)) {}

  Array allowed;   ///< by the mask
  Array bias;      ///< the numbers
  Array attended;  ///< what both leave
};

/// `change`: an entry of same_bits_as. `pairs`: those of `x`.
Variation Vary(const Inputs& x, const Pairs& pairs, const Json& change);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_VARY_H_
