// Merge: two results joined give that of all keys.
#include "skipattn/merge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/test_util.h"

namespace skipattn::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint32_t kNanBits = 0x7fc00000u;

struct Result {
  explicit Result(const Problem& p)
      : out({p.batch, p.heads, p.q_len, p.v_dim}), lse({p.batch, p.heads, p.q_len, 1}) {}
  Tensor Lse() {
    Tensor view = lse.View();
    view.rank = 3;
    return view;
  }
  Array4 out, lse;
};

Status MergeInto(Result& a, Result& b, Result& to) {
  return Merge({a.out.View(), a.Lse(), b.out.View(), b.Lse(), to.out.View(), to.Lse()});
}

TEST(MergeTest, JoinsTwoSetsOfKeys) {
  Problem p = MakeProblem(20, 300, 16);
  p.batch = p.heads = 2;
  p.kv_heads = 1;
  const Inputs inputs(p, 5);
  const auto over = [&](const std::vector<int64_t>& begin, const std::vector<int64_t>& end) {
    Result result(p);
    RunArgs args = inputs.Args();
    args.out = result.out.View();
    args.lse = result.Lse();
    EXPECT_TRUE(Attention(args, mask::KeyRange(begin, end)).ok());
    return result;
  };
  for (const int64_t cut : {0, 1, 150, 299, 300}) {
    SCOPED_TRACE(cut);
    Result a = over({0, 0}, {cut, cut}), b = over({cut, cut}, {300, 300}), got(p);
    ASSERT_TRUE(MergeInto(a, b, got).ok());
    // The exact value of what was given, in float64.
    double largest = 0;
    for (const float v : inputs.v.data) largest = std::max<double>(largest, std::fabs(v));
    for (size_t row = 0; row < got.lse.data.size(); ++row) {
      const double lse_a = a.lse.data[row], lse_b = b.lse.data[row];
      const double wa = std::exp(lse_a), wb = std::exp(lse_b);
      EXPECT_NEAR(got.lse.data[row], std::log(wa + wb), 16 * 0x1p-24 * std::log(wa + wb));
      for (size_t d = 0; d < 16; ++d) {
        const double want =
            (wa * a.out.data[row * 16 + d] + wb * b.out.data[row * 16 + d]) / (wa + wb);
        EXPECT_NEAR(got.out.data[row * 16 + d], want, 16 * 0x1p-24 * largest);
      }
    }
    // And that of all keys at once, to the accuracy of the parts.
    const Result whole = over({0, 0}, {300, 300});
    for (size_t n = 0; n < got.out.data.size(); ++n) {
      EXPECT_NEAR(got.out.data[n], whole.out.data[n], 4e-6);
    }
    Result in_place = a;
    ASSERT_TRUE(MergeInto(in_place, b, in_place).ok());
    EXPECT_TRUE(SameBits(in_place.out.data, got.out.data));
    EXPECT_TRUE(SameBits(in_place.lse.data, got.lse.data));
  }
}

TEST(MergeTest, SidesWithoutKeysAndHostileValues) {
  const Problem p = MakeProblem(1, 1, 1);
  const auto merge = [&](float out_a, float lse_a, float out_b, float lse_b) {
    Result a(p), b(p), got(p);
    a.out.data = {out_a};
    a.lse.data = {lse_a};
    b.out.data = {out_b};
    b.lse.data = {lse_b};
    EXPECT_TRUE(MergeInto(a, b, got).ok());
    return Row{got.out.data, got.lse.data[0]};
  };
  EXPECT_TRUE(SameBits(merge(3, 1.5f, NAN, -kInf), Row{{3.0f}, 1.5f}));
  EXPECT_TRUE(SameBits(merge(-77, -kInf, 4, -200), Row{{4.0f}, -200.0f}));
  EXPECT_TRUE(SameBits(merge(NAN, -kInf, NAN, -kInf), Row{{0.0f}, -kInf}));
  EXPECT_TRUE(SameBits(merge(1, 1000, 3, 1000), Row{{2.0f}, 1000 + 0x1.62e43p-1f}));
  EXPECT_TRUE(SameBits(merge(1, 1e30f, 3, 0), Row{{1.0f}, 1e30f}));
  for (const Row& row : {merge(1, NAN, 2, 0), merge(1, 0, 2, -NAN), merge(1, NAN, 2, -kInf),
                         merge(1, -kInf, NAN, NAN)}) {
    EXPECT_EQ(Bits(row.lse), kNanBits);
  }
  EXPECT_EQ(Bits(merge(-NAN, 0, 2, 0).out[0]), kNanBits);
}

TEST(MergeTest, WrongArguments) {
  const Problem p = MakeProblem(2, 1, 3);
  Result a(p), b(p), to(p);
  const MergeArgs good = {a.out.View(), a.Lse(), b.out.View(), b.Lse(), to.out.View(), to.Lse()};
  EXPECT_TRUE(Merge(good).ok());
  MergeArgs args = good;
  args.lse_b = {};
  EXPECT_TRUE(Complains(Merge(args), {"lse_b is not given", "[1, 1, 2]"}));
  args = good;
  args.out_b.shape[3] = 2;
  EXPECT_TRUE(Complains(Merge(args), {"out_b: shape is [1, 1, 2, 2]", "[1, 1, 2, 3]"}));
  args = good;
  args.lse = Tensor(a.out.data.data(), {1, 1, 2});
  EXPECT_TRUE(Complains(Merge(args), {"lse is in the memory of out_a"}));
  args = good;
  args.out_a.rank = 3;
  EXPECT_TRUE(Complains(Merge(args), {"out_a: rank is 3"}));
}

}  // namespace
}  // namespace skipattn::test
