// Runs that carry their state on: keys in parts give the bits of all keys at once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/attention_case.h"
#include "tests/random_mask.h"
#include "tests/test_util.h"

namespace skipattn::test {
namespace {

/// Room for the state of all rows.
struct State {
  explicit State(const Problem& p)
      : max({p.batch, p.heads, p.q_len, 1}, false, 0, -77.0f),
        sum(max),
        out({p.batch, p.heads, p.q_len, p.v_dim}, true, 3, -77.0f) {}

  Carry View() {
    Carry carry = {max.View(), sum.View(), out.View()};
    carry.max.rank = carry.sum.rank = 3;
    return carry;
  }
  ConstCarry ConstView() {
    const Carry carry = View();
    return {carry.max, carry.sum, carry.out};
  }

  FloatTensor max, sum, out;
};

ConstTensor KeysFrom(ConstTensor view, int axis, int64_t begin, int64_t end) {
  view.data = static_cast<const float*>(view.data) + begin * view.stride[axis];
  view.shape[axis] = end - begin;
  return view;
}

/// Random allowed pairs, as an array over which keys can be cut.
std::vector<uint8_t> DrawPairs(Rng& rng, const Problem& p) {
  std::vector<uint8_t> pairs(static_cast<size_t>(p.q_len * p.k_len));
  const int64_t share = PickOf(rng, {1, 2, 8});
  for (size_t n = 0; n < pairs.size(); ++n) {
    const int64_t i = static_cast<int64_t>(n) / p.k_len;
    pairs[n] = i % 5 != 0 && OneIn(rng, share);
  }
  for (int64_t j = 0; j < p.k_len / 2 && p.q_len > 1; ++j) {
    pairs[static_cast<size_t>(p.k_len + j)] = 0;  // a row without keys in the first parts
  }
  return pairs;
}

/// A bias over which keys can be cut: [q, k] numbers, some -inf; or none, or slopes.
struct PartedBias {
  PartedBias(Rng& rng, Problem* p) : kind(Uniform(rng, 0, 2)) {
    p->bias = kind == 1;
    for (int64_t n = 0; n < p->q_len * p->k_len; ++n) {
      numbers.push_back(OneIn(rng, 4) ? -INFINITY
                                      : static_cast<float>(Uniform(rng, -3000, 3000)) / 1e3f);
    }
  }
  /// Of keys from `begin`: what plans are made with, and what runs bring.
  Bias Of(const Problem& p, int64_t begin, int64_t k_len) const {
    if (kind == 2) return bias::Alibi(ConstTensor(slopes, {p.heads}), 3 - begin);
    return kind == 1 ? bias::Dense(View(p, begin, k_len)) : Bias();
  }
  ConstTensor View(const Problem& p, int64_t begin, int64_t k_len) const {
    ConstTensor view(numbers.data() + begin, {1, 1, p.q_len, k_len});
    view.stride[2] = p.k_len;
    return view;
  }

  int64_t kind;
  std::vector<float> numbers;
  float slopes[2] = {0.25f, 0.01f};
};

void ExpectTheBitsOfTheWhole(uint64_t seed, bool hostile) {
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  Problem p = MakeProblem(PickOf(rng, {1, 7, 40}), PickOf(rng, {130, 300, 700}), 8);
  p.batch = 2;
  p.heads = 2;
  p.v_dim = PickOf(rng, {3, 16, 33});
  p.sinks = OneIn(rng, 2);
  const PartedBias bias(rng, &p);
  AttentionCase data(rng, p);
  data.bias = bias.View(p, 0, p.k_len);
  if (hostile) {
    for (int n = 0; n < 4; ++n) {
      data.v.Row(0, 0, Uniform(rng, 0, p.k_len - 1))[0] = OneIn(rng, 2) ? NAN : INFINITY;
    }
    if (OneIn(rng, 2)) data.k.Row(1, 0, Uniform(rng, 0, p.k_len - 1))[0] = NAN;
    if (OneIn(rng, 2)) data.k.Row(1, 0, Uniform(rng, 0, p.k_len - 1))[0] = INFINITY;
  }
  const std::vector<uint8_t> pairs = DrawPairs(rng, p);
  const ConstTensor allowed(pairs.data(), DType::kBool, {p.q_len, p.k_len});
  AttentionOptions options;
  options.softcap = OneIn(rng, 2) ? 3 : 0;
  options.empty_rows = static_cast<EmptyRows>(PickOf(rng, {0, 1, 3}));
  const int64_t origin = Uniform(rng, 0, 127);
  options.key_origin = {origin};
  const Outputs want =
      data.Exact(*Reference::Make(p, mask::Dense(allowed, "qk"), bias.Of(p, 0, p.k_len), options));

  for (const TargetConfig& one : AllConfigs()) {
    if (!one.exact) continue;
    SCOPED_TRACE(one.target + " " + one.config);
    options.target = one.target;
    options.config = one.config;
    options.threads = static_cast<int>(PickOf(rng, {1, 2, 16}));
    options.backend = OneIn(rng, 6) ? Backend::kReference : Backend::kAuto;
    const bool in_place = OneIn(rng, 2);
    State states[2] = {State(p), State(p)};
    Outputs got = data.EmptyOutputs();
    int at = 0;
    for (int64_t begin = 0, end; begin < p.k_len; begin = end) {
      end = std::min(p.k_len, origin + 128 * (begin / 128 + PickOf(rng, {1, 2})));
      if (end <= begin) end = std::min(p.k_len, begin + 128);
      Problem part = p;
      part.k_len = end - begin;
      options.key_origin = {origin - begin};
      RunArgs args = data.Args(got);
      args.k = KeysFrom(args.k, 2, begin, end);
      args.v = KeysFrom(args.v, 2, begin, end);
      if (p.bias) args.bias = bias.View(p, begin, part.k_len);
      if (begin > 0) args.carry_in = states[at].ConstView();
      if (!in_place) at = 1 - at;
      if (end < p.k_len) {
        args.carry_out = states[at].View();
        args.out = args.lse = Tensor();
      }
      ConstTensor part_pairs = allowed;
      part_pairs.data = pairs.data() + begin;
      part_pairs.shape[1] = part.k_len;
      const Plan plan =
          *MakePlan(part, mask::Dense(part_pairs, "qk"), bias.Of(p, begin, part.k_len), options);
      const Status status = plan.Run(args);
      ASSERT_TRUE(status.ok()) << status.message();
    }
    ASSERT_TRUE(SameBits(got, want));
  }
}

TEST(CarryTest, KeysInPartsGiveTheBitsOfTheWhole) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ExpectTheBitsOfTheWhole(seed, false);
    if (HasFatalFailure()) return;
  }
}

TEST(CarryTest, HostileValuesGoOn) {
  for (uint64_t seed = 100; seed < 140; ++seed) {
    ExpectTheBitsOfTheWhole(seed, true);
    if (HasFatalFailure()) return;
  }
}

TEST(CarryTest, StatesByHand) {
  // Scores 0 and 1 in units of log 2: M = 1, l = 1/2 + 1, o = 3/2 + 5.
  Problem p = MakeProblem(1, 2, 1);
  Inputs inputs(p, 1);
  inputs.q.data = {1.0f};
  inputs.k.data = {0.0f, 1.0f};
  inputs.v.data = {3.0f, 5.0f};
  AttentionOptions options;
  options.scale = std::log(2.0);
  for (const Backend backend : {Backend::kAuto, Backend::kReference}) {
    options.backend = backend;
    State state(p);
    RunArgs args = inputs.Args();
    args.carry_out = state.View();
    const Plan plan = *MakePlan(p, {}, options);
    const Status status = plan.Run(args);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(*state.max.Row(0, 0, 0), 1.0f);
    EXPECT_EQ(*state.sum.Row(0, 0, 0), 1.5f);
    EXPECT_EQ(*state.out.Row(0, 0, 0), 6.5f);
  }
}

TEST(CarryTest, WrongArguments) {
  Problem p = MakeProblem(2, 3, 4);
  Inputs inputs(p, 1);
  State state(p);
  Array4 out({1, 1, 2, 4});
  const auto run = [&](auto change, EmptyRows empty_rows = EmptyRows::kZero) {
    RunArgs args = inputs.Args();
    args.out = out.View();
    change(args);
    AttentionOptions options;
    options.empty_rows = empty_rows;
    return MakePlan(p, {}, options)->Run(args);
  };
  EXPECT_TRUE(Complains(run([&](RunArgs& args) { args.carry_out = state.View(); }),
                        {"out is given beside carry_out", "none"}));
  EXPECT_TRUE(Complains(run([&](RunArgs& args) {
                          args.carry_in = state.ConstView();
                          args.carry_in.sum = {};
                        }),
                        {"carry_in.sum is not given"}));
  EXPECT_TRUE(Complains(run([&](RunArgs& args) {
                          args.out = {};
                          args.carry_out = state.View();
                          args.carry_out.out.shape[3] = 3;
                        }),
                        {"carry_out.out: shape is [1, 1, 2, 3]", "[1, 1, 2, 4]"}));
  EXPECT_TRUE(Complains(run([&](RunArgs& args) {
                          args.out = {};
                          args.carry_in = state.ConstView();
                          args.carry_out = state.View();
                          args.carry_out.max = args.carry_out.sum;
                        }),
                        {"carry_out.max is in the memory of carry_in.sum"}));
  EXPECT_TRUE(
      Complains(run([&](RunArgs& args) { args.carry_in = state.ConstView(); }, EmptyRows::kUniform),
                {"carry_in is given", "uniform"}));
}

}  // namespace
}  // namespace skipattn::test
