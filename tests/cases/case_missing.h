// What of the cases the library cannot be asked yet: the one place to change when it learns more.
#ifndef SKIPATTN_TESTS_CASES_CASE_MISSING_H_
#define SKIPATTN_TESTS_CASES_CASE_MISSING_H_

#include <string>

#include "tests/cases/case_data.h"

namespace skipattn::cases {

/// Why an expanded case cannot be run; empty if it can.
std::string WhyCaseIsMissing(const Json& one);

/// The variations of an expanded case.
Json VariationsOf(const Json& one);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_MISSING_H_
