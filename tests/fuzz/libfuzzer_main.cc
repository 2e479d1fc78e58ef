// The entry of libFuzzer, which supplies main().
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/run_one.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string wrong = skipattn::test::RunOne(data, size);
  if (wrong.empty()) return 0;
  std::fprintf(stderr, "%s\n", wrong.c_str());
  std::abort();
}
