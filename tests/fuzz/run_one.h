// One step of a fuzzer: a problem made from bytes, run in several ways, compared with the exact
// reference.
#ifndef SKIPATTN_TESTS_FUZZ_RUN_ONE_H_
#define SKIPATTN_TESTS_FUZZ_RUN_ONE_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace skipattn::test {

/// Derives a problem, a mask, options, layouts and values from the bytes (see Rng: the first eight
/// are a seed, and may be all there is), makes plans, runs them and checks every bit that they
/// write, every target that they say they use and every pair that they say they count. Empty if all
/// is well, else what is wrong, for people. The same bytes do the same in every process of a build.
std::string RunOne(const uint8_t* data, size_t size);

/// The same for the bytes that are this seed alone.
std::string RunOne(uint64_t seed);

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_FUZZ_RUN_ONE_H_
