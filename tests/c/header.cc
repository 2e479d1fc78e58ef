// The same header in C++; see header.c.
#include "tests/c/header.c"
