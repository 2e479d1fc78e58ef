// One answer: batch mates, padding side, mask form and packing do not change a bit of a sequence.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>

#include "skipattn/attention.h"
#include "tests/attention_case.h"

namespace skipattn::test {
namespace {

constexpr int64_t kLength = 141, kDim = 12, kHeads = 2;

Problem Sized(int64_t batch, int64_t length) {
  Problem p;
  p.batch = batch;
  p.heads = p.kv_heads = kHeads;
  p.q_len = p.k_len = length;
  p.dim = p.v_dim = kDim;
  return p;
}

/// The sequence alone, and how its rows lie in something larger.
class InvarianceTest : public ::testing::Test {
 protected:
  InvarianceTest() : alone_(rng_, Sized(1, kLength)) {}

  /// Puts the sequence's token t of batch entry 0 at (b, place(t)).
  AttentionCase Place(int64_t batch, int64_t length, int64_t b,
                      const std::function<int64_t(int64_t)>& place) {
    AttentionCase in(rng_, Sized(batch, length));
    for (int64_t h = 0; h < kHeads; ++h) {
      for (int64_t t = 0; t < kLength; ++t) {
        std::copy_n(alone_.q.Row(0, h, t), kDim, in.q.Row(b, h, place(t)));
        std::copy_n(alone_.k.Row(0, h, t), kDim, in.k.Row(b, h, place(t)));
        std::copy_n(alone_.v.Row(0, h, t), kDim, in.v.Row(b, h, place(t)));
      }
    }
    return in;
  }

  void ExpectSameRows(AttentionCase& in, const Mask& mask, int64_t b,
                      const std::function<int64_t(int64_t)>& place, const Mask& alone_mask) {
    for (const TargetConfig& one : AllConfigs()) {
      SCOPED_TRACE(one.target + " " + one.config);
      AttentionOptions options;
      options.target = one.target;
      options.config = one.config;
      Outputs want = alone_.Run(*MakePlan(alone_.problem, alone_mask, options));
      Outputs got = in.Run(*MakePlan(in.problem, mask, options));
      for (int64_t h = 0; h < kHeads; ++h) {
        for (int64_t t = 0; t < kLength; ++t) {
          ASSERT_EQ(
              std::memcmp(got.out.Row(b, h, place(t)), want.out.Row(0, h, t), kDim * sizeof(float)),
              0)
              << "head " << h << " token " << t;
          ASSERT_EQ(std::memcmp(got.lse.Row(b, h, place(t)), want.lse.Row(0, h, t), sizeof(float)),
                    0);
        }
      }
    }
  }

  Rng rng_{9};
  AttentionCase alone_;
};

TEST_F(InvarianceTest, PaddingRightLeftAndInHoles) {
  const int64_t length = 300, batch = 3, b = 1;
  const auto right = [](int64_t t) { return t; };
  const auto left = [](int64_t t) { return 300 - kLength + t; };
  for (const auto& place :
       {std::function<int64_t(int64_t)>(right), std::function<int64_t(int64_t)>(left)}) {
    std::vector<uint8_t> valid(batch * length, 1);
    std::fill_n(valid.begin() + b * length, length, uint8_t{0});
    for (int64_t t = 0; t < kLength; ++t) valid[static_cast<size_t>(b * length + place(t))] = 1;
    const Mask padding = mask::Padding(ConstTensor(valid.data(), DType::kBool, {batch, length}));
    AttentionCase in = Place(batch, length, b, place);
    ExpectSameRows(in, padding, b, place, Mask());
    ExpectSameRows(in, padding & mask::Causal(), b, place, mask::Causal());
  }
}

TEST_F(InvarianceTest, EveryFormOfThePaddingMask) {
  const int64_t length = 200, batch = 2, b = 1;
  const auto place = [](int64_t t) { return t + 30; };
  AttentionCase in = Place(batch, length, b, place);
  const std::vector<int64_t> begin = {0, 30}, end = {200, 30 + kLength};
  std::vector<uint8_t> valid(batch * length, 0), pairs(batch * length * length, 0);
  for (int64_t e = 0; e < batch; ++e) {
    for (int64_t i = begin[static_cast<size_t>(e)]; i < end[static_cast<size_t>(e)]; ++i) {
      valid[static_cast<size_t>(e * length + i)] = 1;
      for (int64_t j = begin[static_cast<size_t>(e)]; j < end[static_cast<size_t>(e)]; ++j) {
        pairs[static_cast<size_t>((e * length + i) * length + j)] = 1;
      }
    }
  }
  const ConstTensor keys(valid.data(), DType::kBool, {batch, length});
  const ConstTensor dense(pairs.data(), DType::kBool, {batch, length, length});
  std::vector<int64_t> ids(valid.begin(), valid.end());
  for (int64_t& id : ids) id -= 1;
  const ConstTensor documents(ids.data(), {batch, length});
  for (const Mask& mask :
       {mask::KeyRange(begin, end), mask::KeyValid(keys), mask::Padding(keys),
        mask::KeyRange(begin, end) & mask::QueryRange(begin, end), mask::Dense(dense, "bqk"),
        mask::Dense(keys, "bk"), mask::Dense(keys, "bk") & mask::QueryValid(keys),
        mask::Documents(documents, documents)}) {
    ExpectSameRows(in, mask, b, place, Mask());
  }
}

/// Runs all forms of a mask on one grid with every configuration, and expects the bits of the
/// first.
void ExpectSameBits(const std::vector<Mask>& forms) {
  Rng rng(17);
  AttentionCase data(rng, Sized(2, 200));
  for (const TargetConfig& one : AllConfigs()) {
    SCOPED_TRACE(one.target + " " + one.config);
    AttentionOptions options;
    options.target = one.target;
    options.config = one.config;
    options.key_origin = {-3};
    const Outputs want = data.Run(*MakePlan(data.problem, forms[0], options));
    for (size_t n = 1; n < forms.size(); ++n) {
      const Result<Plan> plan = MakePlan(data.problem, forms[n], options);
      ASSERT_TRUE(plan.ok()) << plan.status().message();
      ASSERT_TRUE(SameBits(data.Run(*plan), want)) << "form " << n;
    }
  }
}

TEST(MaskFormsTest, SinksAndAWindowInEveryForm) {
  constexpr int64_t kSize = 200;
  const auto allowed = [](int64_t, int64_t, int64_t i, int64_t j) {
    return j <= i && (j >= i - 20 || j < 5);
  };
  std::vector<uint8_t> pairs;
  for (int64_t n = 0; n < kSize * kSize; ++n) {
    pairs.push_back(allowed(0, 0, n / kSize, n % kSize) ? 1 : 0);
  }
  const ConstTensor values(pairs.data(), DType::kBool, {kSize, kSize});
  const std::vector<int64_t> sink = {5, 5};
  const Mask causal = mask::Causal(), window = mask::Window(20, 0), sinks = mask::KeyLengths(sink);
  const Mask term = causal & (window | sinks);
  ExpectSameBits(
      {term, ~~term, ~(~causal | ~(window | sinks)), (causal & window) | (causal & sinks),
       mask::Dense(values, "qk"), ~~mask::Dense(values, "qk"), mask::Blocks(values, "qk", 1, 1),
       mask::Function(allowed), ~mask::Function([&](auto... at) { return !allowed(at...); }),
       term & mask::Dense(values, "qk"), term | (mask::Dense(values, "qk") & term)});
}

TEST(MaskFormsTest, APrefixInEveryForm) {
  const std::vector<int64_t> prefix = {60, 131};
  const Mask keys = mask::KeyLengths(prefix), causal = mask::Causal();
  ExpectSameBits({mask::PrefixCausal(prefix), keys | causal, ~(~keys & ~causal),
                  causal | (keys & ~causal),
                  mask::Function([&](int64_t b, int64_t, int64_t i, int64_t j) {
                    return j < prefix[static_cast<size_t>(b)] || j <= i;
                  })});
}

TEST_F(InvarianceTest, APackedDocumentIsTheDocumentAlone) {
  const int64_t length = 400;
  const auto place = [](int64_t t) { return t + 77; };
  AttentionCase in = Place(1, length, 0, place);
  const std::vector<int32_t> bounds = {0, 10, 77, 77 + kLength, 77 + kLength, 400};
  const Mask packed = mask::DocumentsFromBoundaries(bounds, bounds);
  ExpectSameRows(in, packed, 0, place, Mask());
  ExpectSameRows(in, packed & mask::Causal(), 0, place, mask::Causal());
  ExpectSameRows(in, packed & mask::Window(20, 5), 0, place, mask::Window(20, 5));
  const std::vector<int64_t> prefix = {77 + 9}, own = {9};
  ExpectSameRows(in, packed & mask::PrefixCausal(prefix), 0, place, mask::PrefixCausal(own));
  ExpectSameRows(in, packed & ~mask::Window(20, 5) & mask::Causal(), 0, place,
                 ~mask::Window(20, 5) & mask::Causal());
}

/// The tokens [first, first + count) of all heads of a prefill, as new tokens of a longer cache.
AttentionCase Decoding(const AttentionCase& prefill, int64_t first, int64_t count) {
  AttentionCase one = prefill;
  one.problem.q_len = count;
  one.q.shape[2] = count;
  one.q.storage.erase(one.q.storage.begin(), one.q.storage.begin() + first * one.q.stride[2]);
  return one;
}

// Whatever the group of heads, the number of new tokens and the threads.
TEST(DecodeTest, NewTokensHaveTheirPrefillBits) {
  for (const int64_t group : {1, 3, 4, 6, 8, 32}) {
    Problem p = Sized(1, 300);
    p.kv_heads = 2;
    p.heads = 2 * group;
    p.dim = 20;
    p.v_dim = 36;
    Rng rng(static_cast<uint64_t>(group));
    AttentionCase prefill(rng, p);
    for (const TargetConfig& one : AllConfigs()) {
      SCOPED_TRACE(one.target + " " + one.config + ", group " + std::to_string(group));
      AttentionOptions options;
      options.target = one.target;
      options.config = one.config;
      options.threads = 1;
      Outputs want = prefill.Run(*MakePlan(p, mask::Causal(), options));
      for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{{0, 1},
                                                                                 {5, 1},
                                                                                 {127, 1},
                                                                                 {128, 1},
                                                                                 {299, 1},
                                                                                 {298, 2},
                                                                                 {140, 3},
                                                                                 {0, 5},
                                                                                 {284, 16}}) {
        AttentionCase decode = Decoding(prefill, first, count);
        for (const int threads : {1, 6}) {
          options.threads = threads;
          Outputs got = decode.Run(*MakePlan(decode.problem, mask::Causal(first), options));
          for (int64_t h = 0; h < p.heads; ++h) {
            for (int64_t i = 0; i < count; ++i) {
              ASSERT_EQ(std::memcmp(got.out.Row(0, h, i), want.out.Row(0, h, first + i),
                                    static_cast<size_t>(p.v_dim) * sizeof(float)),
                        0)
                  << "head " << h << " token " << first + i << " of " << count << ", " << threads
                  << " threads";
              ASSERT_EQ(
                  std::memcmp(got.lse.Row(0, h, i), want.lse.Row(0, h, first + i), sizeof(float)),
                  0);
            }
          }
        }
      }
    }
  }
}

// q = 0 weighs all keys the same, and v_j = 2^j makes the sum spell the attended set.
TEST(FingerprintTest, TheOutputSpellsTheAttendedKeys) {
  Rng rng(3);
  Problem p;
  p.batch = p.heads = p.kv_heads = 1;
  p.q_len = p.k_len = 20;
  p.dim = 4;
  p.v_dim = 1;
  AttentionCase data(rng, p);
  std::fill(data.q.storage.begin(), data.q.storage.end(), 0.0f);
  for (int64_t j = 0; j < 20; ++j) *data.v.Row(0, 0, j) = std::ldexp(1.0f, static_cast<int>(j));
  const std::vector<int64_t> length = {17};
  const Mask mask = mask::Window(3, 1) & mask::KeyLengths(length);
  for (const TargetConfig& one : AllConfigs()) {
    AttentionOptions options;
    options.target = one.target;
    options.config = one.config;
    Outputs got = data.Run(*MakePlan(p, mask, options));
    for (int64_t i = 0; i < 20; ++i) {
      int64_t keys = 0, count = 0;
      for (int64_t j = std::max<int64_t>(i - 3, 0); j <= std::min<int64_t>(i + 1, 16); ++j) {
        keys += int64_t{1} << j;
        ++count;
      }
      const double spelled =
          static_cast<double>(*got.out.Row(0, 0, i)) * static_cast<double>(count);
      EXPECT_EQ(std::llround(spelled * 16) / 16, keys) << i;
      if (count > 0) {
        EXPECT_NEAR(*got.lse.Row(0, 0, i), std::log(static_cast<double>(count)), 1e-6);
      }
    }
  }
}

}  // namespace
}  // namespace skipattn::test
