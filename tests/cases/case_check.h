// Runs an expanded case in every way and compares, with expectations of GoogleTest.
#ifndef SKIPATTN_TESTS_CASES_CASE_CHECK_H_
#define SKIPATTN_TESTS_CASES_CASE_CHECK_H_

#include <cstddef>

#include "tests/cases/case_data.h"

namespace skipattn::cases {

/// `number`: of the case in the file; it chooses among tile configurations.
void CheckCase(const Json& one, size_t number);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_CHECK_H_
