// Checks of the C programs: each failure is told and counted.
#ifndef SKIPATTN_TESTS_C_CHECK_H_
#define SKIPATTN_TESTS_C_CHECK_H_

#include <stdio.h>

static int checks = 0, failures = 0;

static void Check(int good, const char* what, int line, const char* why) {
  ++checks;
  if (good) return;
  ++failures;
  printf("line %d: %s; %s\n", line, what, why);
}

/// The last error of the library is told with it.
#define CHECK(condition) Check((condition) != 0, #condition, __LINE__, skipattn_last_error())
#define CHECK_OK(call) CHECK((call) == SKIPATTN_OK)

/// What main returns.
static int Summary(void) {
  printf("%d checks, %d failures\n", checks, failures);
  return checks == 0 || failures != 0;
}

#endif  // SKIPATTN_TESTS_C_CHECK_H_
