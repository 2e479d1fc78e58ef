// The core of both fuzzers; see run_one.h.
#include "tests/fuzz/run_one.h"

#include <optional>

#include "tests/fuzz/fuzz_case.h"
#include "tests/fuzz/way.h"

namespace skipattn::test {
namespace {

constexpr int kMostWays = 4;  // one evaluation of the reference serves several runs

/// A pair that the reference and the definition of the terms see differently.
std::optional<std::string> PairInDispute(const FuzzCase& one, const Reference& reference) {
  const Problem& p = one.problem;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        for (int64_t j = 0; j < p.k_len; ++j) {
          const bool allowed = one.mask.Allows(b, h, i, j);
          // A bias may take pairs away, none that is plain does.
          if (reference.Allows(b, h, i, j) == allowed || (allowed && !one.bias.tame())) continue;
          return std::to_string(b) + ", " + std::to_string(h) + ", " + std::to_string(i) + ", " +
                 std::to_string(j);
        }
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::string RunOne(const uint8_t* data, size_t size) {
  Rng rng(data, size);
  FuzzCase one(rng);
  const auto failure = [&](const std::string& why) { return why + "\n  in " + one.Text(); };
  const Result<Reference> reference =
      Reference::Make(one.problem, one.mask.mask, one.bias.bias, one.options);
  if (!reference.ok()) return failure(reference.status().message());
  if (const auto pair = PairInDispute(one, *reference)) {
    return failure("the reference disagrees about pair " + *pair);
  }
  const Outputs want = one.Exact(*reference);
  one.SpoilWhatNobodyAttends(rng);
  for (int ways = static_cast<int>(Uniform(rng, 1, kMostWays)); ways > 0; --ways) {
    const Way way(rng);
    const std::string wrong = way.Check(one, *reference, want);
    if (!wrong.empty()) return failure(wrong + "\n  by " + way.Text());
  }
  return "";
}

std::string RunOne(uint64_t seed) {
  uint8_t bytes[8];
  for (int n = 0; n < 8; ++n) bytes[n] = static_cast<uint8_t>(seed >> (8 * n));
  return RunOne(bytes, sizeof(bytes));
}

}  // namespace skipattn::test
