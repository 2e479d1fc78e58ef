// Draws a case; see fuzz_case.h.
#include "tests/fuzz/fuzz_case.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>

namespace skipattn::test {
namespace {

template <class T, size_t kCount>
T Pick(Rng& rng, const T (&values)[kCount]) {
  return values[rng.Below(kCount)];
}

/// Sizes around the edges of vectors, tiles and chunks, small enough for hundreds of cases a
/// second.
Problem DrawProblem(Rng& rng) {
  constexpr int64_t kMostPairs = 200'000, kMostProducts = 2'000'000;
  const int64_t most = PickOf(rng, {20, 40, 40, 150, 150, 600});
  Problem p;
  p.batch = PickOf(rng, {1, 1, 1, 2, 3});
  p.kv_heads = PickOf(rng, {1, 1, 1, 2, 3});
  p.heads = p.kv_heads * PickOf(rng, {1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 32});
  p.q_len = RandomSize(rng, 1, most);
  const bool square = OneIn(rng, 2);
  p.k_len = square ? p.q_len : RandomSize(rng, 1, most);
  if (!square && OneIn(rng, 5)) {  // few queries of many keys, where tiles are split
    p.q_len = PickOf(rng, {1, 1, 2, 3, 4, 7, 16});
    p.k_len = Uniform(rng, 200, 1500);
  }
  p.dim = RandomSize(rng, 1, PickOf(rng, {8, 40, 130, 600}));
  p.v_dim = OneIn(rng, 2) ? p.dim : RandomSize(rng, 1, PickOf(rng, {8, 40, 130, 600}));
  const auto pairs = [&] { return p.batch * p.heads * p.q_len * p.k_len; };
  while (pairs() > kMostPairs || pairs() * (p.dim + p.v_dim) > kMostProducts) {
    p.q_len = (p.q_len + 1) / 2;
    if (square) p.k_len = p.q_len;
    if (p.q_len == 1) p.k_len = (p.k_len + 1) / 2;
  }
  p.sinks = OneIn(rng, 4);
  if (OneIn(rng, 50)) *Pick(rng, {&p.batch, &p.q_len, &p.k_len}) = 0;
  return p;
}

float HostileValue(Rng& rng) {
  float negative_nan;
  const uint32_t bits = 0xffc12345u;
  std::memcpy(&negative_nan, &bits, sizeof(bits));
  return Pick(rng, {NAN, negative_nan, INFINITY, -INFINITY, 1e30f, -1e30f, 3e38f, -3e38f, 1e-40f,
                    -1e-44f, -0.0f, 0.0f});
}

/// Writes hostile values at a few places of a view.
void Poison(Rng& rng, const Tensor& view) {
  for (const int64_t size : view.shape) {
    if (size == 0) return;
  }
  for (int64_t count = PickOf(rng, {1, 1, 2, 9}); count > 0; --count) {
    int64_t at[3];
    for (int axis = 0; axis < 3; ++axis) at[axis] = Uniform(rng, 0, view.shape[axis] - 1);
    float* row = RowOf(view, at[0], at[1], at[2]);
    row[Uniform(rng, 0, view.shape[3] - 1)] = HostileValue(rng);
  }
}

/// A seed of its own for the many numbers of the tensors, which would eat up a fuzzer's bytes.
AttentionCase DrawTensors(Rng& rng, const Problem& problem) {
  Rng numbers(rng.Below(0x10000));
  return AttentionCase(numbers, problem);
}

}  // namespace

FuzzCase::FuzzCase(Rng& rng)
    : problem(DrawProblem(rng)),
      mask(rng, problem),
      bias(rng, problem),
      data(DrawTensors(rng, problem)),
      live_q(data.q),
      live_k(data.k),
      live_v(data.v) {
  problem.bias = data.problem.bias = bias.view.given();
  data.bias = bias.view;
  tame = bias.tame();
  DrawOptions(rng);
  if (OneIn(rng, 2)) {
    bend_q_ = Bend(rng, data.q.View(), true);
    bend_k_ = Bend(rng, data.k.View(), true);
    bend_v_ = Bend(rng, data.v.View(), true);
    Outputs outputs = data.EmptyOutputs();
    const RunArgs plain = data.Args(outputs);
    bend_out_ = Bend(rng, plain.out, false);
    bend_lse_ = Bend(rng, plain.lse, false);
  }
  if (OneIn(rng, 2)) DrawValues(rng);
  FindLiveRows();
}

void FuzzCase::DrawOptions(Rng& rng) {
  const double scale = Pick(rng, {0.0, 0.0, 0.0, 0.3, -0.7, 1e-40, 30.0, 2e38});
  if (scale != 0.0 || OneIn(rng, 20)) options.scale = scale;
  tame = tame && std::fabs(scale) < 1;
  options.bias_is_mask = !OneIn(rng, 5);
  if (OneIn(rng, 4)) options.softcap = Pick(rng, {1e-38, 0.5, 3.0, 50.0, 2e38});
  options.empty_rows = static_cast<EmptyRows>(PickOf(rng, {0, 0, 1, 2, 3}));
  for (float& sink : data.sinks) {
    if (OneIn(rng, 4)) sink = Pick(rng, {-INFINITY, -3e38f, -100.0f, 100.0f, 1e30f});
    tame = tame && std::fabs(sink) <= 100;
  }
  const int64_t origins = PickOf(rng, {0, 0, 1, problem.batch});
  for (int64_t n = 0; n < origins; ++n) {
    options.key_origin.push_back(
        PickOf(rng, {Uniform(rng, -300, 300), Uniform(rng, -300, 300), 0,
                     std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min()}));
  }
}

void FuzzCase::DrawValues(Rng& rng) {
  const auto multiply = [&](FloatTensor& tensor, float factor) {
    for (float& value : tensor.storage) value *= factor;
  };
  if (OneIn(rng, 3)) {
    const float factor = Pick(rng, {0.0f, -0.0f, 4.0f, 100.0f, 1e-30f, 1e-39f, 1e20f});
    tame = tame && std::fabs(factor) < 10;
    multiply(data.q, factor);
  }
  if (OneIn(rng, 3)) {
    const float factor = Pick(rng, {0.0f, -0.0f, 1e5f, 1e-39f, 1e38f});
    tame = tame && (factor == 0 || factor == 1e5f);
    multiply(data.v, factor);
  }
  if (OneIn(rng, 2)) return;
  tame = false;
  if (OneIn(rng, 2)) Poison(rng, bend_q_.Of(data.q.View()));
  if (OneIn(rng, 2)) Poison(rng, bend_k_.Of(data.k.View()));
  if (!OneIn(rng, 4)) Poison(rng, bend_v_.Of(data.v.View()));
}

void FuzzCase::FindLiveRows() {
  const Tensor q = bend_q_.Of(data.q.View()), k = bend_k_.Of(data.k.View()),
               v = bend_v_.Of(data.v.View());
  const int64_t group = problem.heads / problem.kv_heads;
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t g = 0; g < problem.kv_heads; ++g) {
      std::vector<bool> attended(static_cast<size_t>(problem.k_len));
      for (int64_t h = g * group; h < (g + 1) * group; ++h) {
        for (int64_t i = 0; i < problem.q_len; ++i) {
          int64_t keys = 0;
          for (int64_t j = 0; j < problem.k_len; ++j) {
            if (!mask.Allows(b, h, i, j)) continue;
            attended[static_cast<size_t>(j)] = true;
            ++keys;
          }
          live_pairs += keys;
          empty_rows += keys == 0 ? 1 : 0;
          if (keys > 0) live_q.Add(RowOf(q, b, h, i));
        }
      }
      for (int64_t j = 0; j < problem.k_len; ++j) {
        // The mean of all v is read by definition.
        const bool live = attended[static_cast<size_t>(j)];
        if (live) live_k.Add(RowOf(k, b, g, j));
        if (live || options.empty_rows == EmptyRows::kUniform) live_v.Add(RowOf(v, b, g, j));
      }
    }
  }
  for (LiveRows* rows : {&live_q, &live_k, &live_v}) rows->Sort();
}

RunArgs FuzzCase::Args(Outputs& outputs) {
  RunArgs args = data.Args(outputs);
  args.q = bend_q_.Of(data.q.View());
  args.k = bend_k_.Of(data.k.View());
  args.v = bend_v_.Of(data.v.View());
  args.out = bend_out_.Of(args.out);
  args.lse = bend_lse_.Of(args.lse);
  return args;
}

Outputs FuzzCase::Exact(const Reference& reference) {
  Outputs outputs = data.EmptyOutputs();
  const RunArgs args = Args(outputs);
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.heads; ++h) {
      for (int64_t i = 0; i < problem.q_len; ++i) {
        float* lse = RowOf(args.lse, b, h, i);
        float* out = RowOf(args.out, b, h, i);
        if (!reference.ExactRow(args, b, h, i, out, lse).ok()) return outputs;
      }
    }
  }
  return outputs;
}

void FuzzCase::SpoilWhatNobodyAttends(Rng& rng) {
  bias.Spoil(rng, problem,
             [&](int64_t b, int64_t h, int64_t i, int64_t k) { return !mask.Allows(b, h, i, k); });
  for (const auto& [rows, dim] : {std::pair<LiveRows*, int64_t>{&live_q, problem.dim},
                                  {&live_k, problem.dim},
                                  {&live_v, problem.v_dim}}) {
    rows->ForEachOther([&, dim = dim](float* row) { std::fill_n(row, dim, HostileValue(rng)); });
  }
}

ConstTensor FuzzCase::Pairs(std::vector<uint8_t>& values) const {
  values.clear();
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (int64_t h = 0; h < problem.heads; ++h) {
      for (int64_t i = 0; i < problem.q_len; ++i) {
        for (int64_t j = 0; j < problem.k_len; ++j) values.push_back(mask.Allows(b, h, i, j));
      }
    }
  }
  return ConstTensor(values.data(), DType::kBool,
                     {problem.batch, problem.heads, problem.q_len, problem.k_len});
}

std::string FuzzCase::Text() const {
  std::string text;
  const Problem& p = problem;
  for (const auto& [name, size] : {std::pair<const char*, int64_t>{"batch ", p.batch},
                                   {", heads ", p.heads},
                                   {" / ", p.kv_heads},
                                   {", q_len ", p.q_len},
                                   {", k_len ", p.k_len},
                                   {", dim ", p.dim},
                                   {", v_dim ", p.v_dim}}) {
    text += name + std::to_string(size);
  }
  text += "; " + mask.text + "; " + bias.text + (options.bias_is_mask ? ";" : " not a mask;");
  if (options.scale.has_value()) {
    char number[32];
    std::snprintf(number, sizeof(number), " scale %g", *options.scale);
    text += number;
  }
  for (const int64_t origin : options.key_origin) text += " origin " + std::to_string(origin);
  if (options.softcap > 0) {
    char number[32];
    std::snprintf(number, sizeof(number), " softcap %g", options.softcap);
    text += number;
  }
  if (problem.sinks) text += " sinks";
  const char* policies[] = {"", " keep", " uniform", " nan"};
  text += policies[static_cast<int>(options.empty_rows)];
  return text + (tame ? " tame" : " wild");
}

}  // namespace skipattn::test
