// Rng: where the choices of random tests come from.
#ifndef SKIPATTN_TESTS_RNG_H_
#define SKIPATTN_TESTS_RNG_H_

#include <cstddef>
#include <cstdint>
#include <random>

namespace skipattn::test {

/// Random numbers of a seed, the same on every platform; or choices that a fuzzer makes, byte by
/// byte.
class Rng {
 public:
  explicit Rng(uint64_t seed) : engine_(seed) {}

  /// The first eight bytes are a seed, every choice takes the next bytes, and once they have run
  /// out the seed decides. The bytes must outlive the choices.
  Rng(const uint8_t* data, size_t size) : data_(data), size_(size) { engine_.seed(Take(8)); }

  uint64_t operator()() { return size_ > 0 ? Take(8) : engine_(); }

  /// A number in [0, n), from as few bytes as it needs.
  uint64_t Below(uint64_t n) {
    if (size_ == 0) return engine_() % n;
    return Take(n <= 0x100 ? 1 : n <= 0x10000 ? 2 : 8) % n;
  }

 private:
  uint64_t Take(size_t bytes) {
    uint64_t number = 0;
    for (size_t n = 0; n < bytes && size_ > 0; ++n, ++data_, --size_) {
      number |= uint64_t{*data_} << (8 * n);
    }
    return number;
  }

  std::mt19937_64 engine_;
  const uint8_t* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RNG_H_
