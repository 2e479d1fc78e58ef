// Golden hashes: the bits that every machine, compiler, target and configuration with a native fma
// must give for these problems. They change only with ArithmeticVersion().
#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>
#include <functional>
#include <set>

#include "plan/bias_term.h"
#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

struct Golden {
  const char* name;
  int64_t batch, heads, kv_heads, q_len, k_len, dim, v_dim;
  std::function<Mask()> mask;
  uint64_t hash;
  double softcap = 0;
  bool sinks = false;
  EmptyRows empty_rows = EmptyRows::kZero;
  std::function<Bias()> bias = [] { return Bias(); };
};

const std::vector<int64_t> kLengths = {200, 1, 77}, kBegin = {3, 130, 0}, kEnd = {190, 131, 200};
const std::vector<int64_t> kCacheLengths = {700, 333};
const std::vector<int32_t> kBounds = {0, 50, 50, 181, 300};

/// [200, 200] bools by a rule that has both long runs and scattered holes.
ConstTensor IrregularPairs() {
  static const std::vector<uint8_t> pairs = [] {
    std::vector<uint8_t> values(200 * 200);
    for (size_t n = 0; n < values.size(); ++n) {
      const size_t i = n / 200, j = n % 200;
      values[n] = (i / 20 + j / 30) % 3 != 0 || (i * 7 + j * 11) % 13 == 0;
    }
    return values;
  }();
  return ConstTensor(pairs.data(), DType::kBool, {200, 200});
}

const std::vector<float> kSlopes = {0.25f, 0.0625f};

/// [2, 40] numbers between -2 and 2, -inf at the ends.
ConstTensor Table() {
  static const std::vector<float> table = [] {
    std::vector<float> values(80);
    for (size_t n = 0; n < values.size(); ++n) {
      values[n] = static_cast<float>((n * 37) % 65) / 16.0f - 2.0f;
    }
    values[0] = values[79] = -INFINITY;
    return values;
  }();
  return ConstTensor(table.data(), {2, 40});
}

/// [300, 300] numbers, with -inf, soft rows and soft columns.
ConstTensor BiasNumbers() {
  static const std::vector<float> numbers = [] {
    std::vector<float> values(300 * 300);
    for (size_t n = 0; n < values.size(); ++n) {
      const size_t i = n / 300, j = n % 300;
      values[n] = static_cast<float>((i * 31 + j * 17) % 129) / 32.0f - 2.0f;
      if (j < 9 || i % 50 == 49) values[n] = -3e38f;
      if ((i / 40 + j / 30) % 4 == 0) values[n] = -INFINITY;
    }
    return values;
  }();
  return ConstTensor(numbers.data(), {300, 300});
}

const Golden kGolden[] = {
    {"dense", 1, 2, 2, 100, 100, 64, 64, [] { return Mask(); }, 0x7771d21d1b10043c},
    {"long", 1, 1, 1, 40, 1000, 32, 32, [] { return Mask(); }, 0xcb0786a26989efc9},
    {"padding", 3, 2, 2, 200, 200, 16, 24,
     [] { return mask::KeyLengths(kLengths) & mask::QueryLengths(kLengths); }, 0xe4bc59494526e0e8},
    {"left padding, causal", 3, 2, 1, 200, 200, 20, 20,
     [] { return mask::KeyRange(kBegin, kEnd) & mask::Causal(); }, 0x6673a0521a40813f},
    {"grouped, bottom right", 1, 6, 2, 33, 290, 40, 8,
     [] { return mask::Causal(mask::Align::kBottomRight); }, 0x7209448a13c6e4c2},
    {"window", 1, 1, 1, 400, 400, 8, 72, [] { return mask::Window(33, 5); }, 0xd05b1a6473a7f474},
    {"documents, causal", 1, 2, 2, 300, 300, 24, 24,
     [] { return mask::DocumentsFromBoundaries(kBounds, kBounds) & mask::Causal(); },
     0x94673145c70d11ab},
    {"irregular pairs", 1, 2, 2, 200, 200, 12, 33,
     [] { return mask::Dense(IrregularPairs(), "qk"); }, 0x15053f346a154db9},
    {"decode, grouped", 2, 8, 2, 1, 700, 128, 128, [] { return mask::KeyLengths(kCacheLengths); },
     0xb5f59466f1a96034},
    {"few rows", 1, 6, 2, 5, 515, 44, 72, [] { return mask::Causal(mask::Align::kBottomRight); },
     0xd5592fecbd2b24d8},
    {"one key", 2, 1, 1, 5, 1, 3, 3, [] { return Mask(); }, 0x8c2018fe3537fef2},
    {"softcap", 1, 2, 2, 60, 300, 24, 16, [] { return Mask(); }, 0x2e175732c3cd6199, 1.5},
    {"sinks, padding", 3, 4, 2, 200, 200, 8, 12,
     [] { return mask::KeyLengths(kLengths) & mask::QueryLengths(kLengths); }, 0x2d08c5e0fda20eec,
     0, true},
    {"uniform", 3, 2, 1, 200, 200, 8, 12,
     [] { return mask::KeyRange(kBegin, kEnd) & mask::Causal(); }, 0xd0beacd4e3442844, 0, false,
     EmptyRows::kUniform},
    {"nan", 3, 2, 1, 200, 200, 8, 12, [] { return mask::KeyRange(kBegin, kEnd) & mask::Causal(); },
     0x3688c8d6ce10e4c4, 0, false, EmptyRows::kNan},
    {"alibi, causal", 1, 2, 2, 200, 200, 16, 16, [] { return mask::Causal(); }, 0x41f03252f9bb290b,
     0, false, EmptyRows::kZero, [] { return bias::Alibi(kSlopes); }},
    {"relative", 2, 2, 1, 150, 190, 16, 16, [] { return Mask(); }, 0xf596adb9544ce0d5, 0, false,
     EmptyRows::kZero, [] { return bias::Relative(Table(), mask::Align::kBottomRight); }},
    {"dense bias, softcap, sinks", 1, 2, 2, 300, 300, 16, 16, [] { return Mask(); },
     0x7868c8bcbea1f69d, 4, true, EmptyRows::kZero,
     [] { return bias::Dense(BiasNumbers(), "qk"); }},
};

uint64_t Hash(const Outputs& outputs) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a of the bits, in order
  for (const FloatTensor* tensor : {&outputs.out, &outputs.lse}) {
    for (const float& value : tensor->storage) {
      uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      for (int byte = 0; byte < 4; ++byte) {
        hash = (hash ^ ((bits >> (8 * byte)) & 0xff)) * 0x100000001b3u;
      }
    }
  }
  return hash;
}

TEST(GoldenTest, ArithmeticVersionOne) { EXPECT_EQ(ArithmeticVersion(), 1); }

class GoldenTest : public ::testing::TestWithParam<Golden> {};

TEST_P(GoldenTest, Hash) {
  const Golden& golden = GetParam();
  Problem problem = {golden.batch, golden.heads, golden.kv_heads, golden.q_len,
                     golden.k_len, golden.dim,   golden.v_dim};
  problem.sinks = golden.sinks;
  Rng rng(2024);
  AttentionCase data(rng, problem);
  const Bias bias = golden.bias();
  if (const internal::BiasTerm* term = bias.term();
      term != nullptr && term->kind == internal::BiasKind::kDense) {
    data.problem.bias = true;
    data.bias = bias::FourAxes(term->values, term->axes);
  }
  data.out_heads_inside = false;
  data.out_gap = 0;
  std::set<std::string> ran;
  const auto expect = [&](const AttentionOptions& options, const std::string& what) {
    const uint64_t hash = Hash(data.Run(*MakePlan(problem, golden.mask(), bias, options)));
    char text[32];
    std::snprintf(text, sizeof(text), "0x%016" PRIx64, hash);
    EXPECT_EQ(hash, golden.hash) << golden.name << " gives " << text << " with " << what;
    ran.insert(what);
  };
  AttentionOptions options;
  options.softcap = golden.softcap;
  options.empty_rows = golden.empty_rows;
  options.backend = Backend::kReference;
  expect(options, "the reference");
  options.backend = Backend::kAuto;
  for (const TargetConfig& one : AllConfigs()) {
    if (!one.exact) continue;
    options.target = one.target;
    options.config = one.config;
    expect(options, one.target + " " + one.config);
  }
  EXPECT_GE(ran.size(), 2u) << "no exact target ran";
}

INSTANTIATE_TEST_SUITE_P(Table, GoldenTest, ::testing::ValuesIn(kGolden),
                         [](const auto& row) { return "Row" + std::to_string(row.index); });

}  // namespace
}  // namespace skipattn::test
