// Runs attention on every thread and target, and compares it with the reference.
#include <skipattn/attention.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr int64_t kBatch = 2, kHeads = 3, kLength = 70, kDim = 20;

int Fail(const char* what, const char* why) {
  std::printf("%s: %s\n", what, why);
  return 1;
}

}  // namespace

int main() {
  std::vector<float> q(kBatch * kHeads * kLength * kDim), k(q), v(q), out(q);
  for (size_t n = 0; n < q.size(); ++n) {
    q[n] = static_cast<float>(n % 13) / 13;
    k[n] = static_cast<float>(n % 17) / 17;
    v[n] = static_cast<float>(n % 19) / 19;
  }
  const std::vector<int64_t> lengths = {kLength, 9};
  const skipattn::Mask mask = skipattn::mask::KeyLengths(lengths) & skipattn::mask::Causal();
  skipattn::RunArgs args;
  args.q = {q.data(), {kBatch, kHeads, kLength, kDim}};
  args.k = {k.data(), {kBatch, kHeads, kLength, kDim}};
  args.v = {v.data(), {kBatch, kHeads, kLength, kDim}};
  args.out = {out.data(), {kBatch, kHeads, kLength, kDim}};

  const auto problem = skipattn::ProblemOf(args);
  if (!problem.ok()) return Fail("problem", problem.status().message().c_str());
  const auto reference = skipattn::Reference::Make(*problem, mask);
  if (!reference.ok()) return Fail("reference", reference.status().message().c_str());
  std::vector<float> want(kDim);
  for (const skipattn::TargetInfo& target : skipattn::CompiledTargets()) {
    if (!target.supported) continue;
    skipattn::AttentionOptions options;
    options.target = target.name;
    options.threads = 2;
    const skipattn::Status status = skipattn::Attention(args, mask, options);
    if (!status.ok()) return Fail(target.name.c_str(), status.message().c_str());
    for (int64_t row = 0; row < kBatch * kHeads * kLength; ++row) {
      const int64_t b = row / kLength / kHeads, h = row / kLength % kHeads, i = row % kLength;
      if (!reference->ExactRow(args, b, h, i, want.data(), nullptr).ok()) return 1;
      for (int64_t d = 0; d < kDim; ++d) {
        const float got = out[static_cast<size_t>(row * kDim + d)];
        const float most = target.exact ? 0.0f : 1e-5f;
        if (!(std::fabs(got - want[static_cast<size_t>(d)]) <= most)) {
          return Fail(target.name.c_str(), "not what the reference gives");
        }
      }
    }
  }
  std::printf("skipattn %s works\n", skipattn::Version());
}
