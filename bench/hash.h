// Hashes: numbers that look random and are the same on every machine.
#ifndef SKIPATTN_BENCH_HASH_H_
#define SKIPATTN_BENCH_HASH_H_

#include <cstddef>
#include <cstdint>

namespace skipattn::bench {

/// Number `counter` of the stream `seed` (SplitMix64): any number of a stream can be had without
/// those before it.
inline uint64_t Hash64(uint64_t seed, uint64_t counter) {
  uint64_t x = seed + 0x9E3779B97F4A7C15u * (counter + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

inline constexpr uint64_t kFnvStart = 0xCBF29CE484222325u;

/// FNV-1a over `size` bytes, going on from `hash`.
inline uint64_t Fnv1a64(const void* data, size_t size, uint64_t hash = kFnvStart) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t n = 0; n < size; ++n) hash = (hash ^ bytes[n]) * 0x100000001B3u;
  return hash;
}

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_HASH_H_
