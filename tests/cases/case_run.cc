// Puts inputs into memory at the strides of a layout, and runs; see case_run.h.
#include "tests/cases/case_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>

#include "tests/cases/case_memory.h"

namespace skipattn::cases {
namespace {

constexpr float kUnwritten = -54321.0f;
constexpr size_t kGuard = 16;  // elements after the last one that nobody may touch

Placement Place(const Shape& shape, Operand operand, const std::string& layout) {
  const int64_t H = shape[1], T = shape[2], D = shape[3];
  Placement place{shape, StridesOf(shape)};
  if (layout == "bthd") {
    place.stride = {T * H * D, D, H * D, 1};
  } else if (layout == "packed_qkv") {  // one buffer [B, T, 3, H, D]
    place.stride = {T * 3 * H * D, D, 3 * H * D, 1};
    place.start = static_cast<int64_t>(operand) * H * D;
  } else if (layout == "row_pad") {
    place.stride = {H * T * (D + 5), T * (D + 5), D + 5, 1};
  } else if (layout == "expanded_kv") {  // one key head that all read
    if (operand != kQ) place.stride = {T * D, 0, D, 1};
  } else if (layout == "odd_strides") {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1) place.stride[axis] = 999;
    }
  } else if (layout == "strided_last") {
    for (int64_t& stride : place.stride) stride *= 2;
  } else if (layout != "bhtd") {
    throw std::runtime_error("unknown layout " + layout);
  }
  return place;
}

/// The layout of `out` beside q, k and v in `layout`.
std::string OutLayout(const std::string& layout) {
  if (layout == "packed_qkv") return "bthd";
  return layout == "expanded_kv" || layout == "strided_last" ? "bhtd" : layout;
}

/// q, k and v in memory; what lies between their elements is NaN.
class Operands {
 public:
  explicit Operands(const Inputs& x) {
    Placement place[kOperands];
    for (Operand n : {kQ, kK, kV}) {
      place[n] = Place(x.qkv[n].shape, n, x.layout);
      std::vector<float>& memory = MemoryOf(n, x.layout);
      memory.resize(std::max(memory.size(), RoomFor(place[n]) + kGuard), NAN);
      Write(x.qkv[n], place[n], &memory);
    }
    for (Operand n : {kQ, kK, kV}) {
      views_[n] = ViewOf<ConstTensor>(&MemoryOf(n, x.layout), x.dtype[n], place[n]);
    }
  }

  const ConstTensor& view(Operand n) const { return views_[n]; }

 private:
  std::vector<float>& MemoryOf(Operand n, const std::string& layout) {
    return memory_[layout == "packed_qkv" ? kQ : n];
  }

  std::vector<float> memory_[kOperands];
  ConstTensor views_[kOperands];
};

/// Memory for a result, with a mark in every element.
class Results {
 public:
  explicit Results(const Placement& place)
      : place_(place), memory_(RoomFor(place) + kGuard, kUnwritten) {}

  Tensor view() { return ViewOf<Tensor>(&memory_, DType::kF32, place_); }

  bool HasMarksOnly() const {
    return std::all_of(memory_.begin(), memory_.end(), [](float x) { return x == kUnwritten; });
  }

  /// The elements, in whose place marks are left.
  std::vector<float> Take() {
    std::vector<float> elements;
    ForEachPlace(place_, &memory_, [&](size_t, float* element) {
      elements.push_back(*element);
      *element = kUnwritten;
    });
    return elements;
  }

 private:
  const Placement place_;
  std::vector<float> memory_;
};

}  // namespace

std::vector<Way> WaysFor(size_t number) {
  std::vector<Way> ways;
  for (const TargetInfo& target : CompiledTargets()) {
    if (!target.supported || !target.exact) continue;
    const std::vector<std::string> configs = TileConfigs(target.name).value();
    ways.push_back({target.name, target.name, configs[0]});
    if (configs.size() == 1) continue;
    const std::string& other = configs[1 + number % (configs.size() - 1)];
    ways.push_back({target.name + " " + other, target.name, other});
  }
  if (!ways.empty()) {
    ways.push_back({"no skipping", ways[0].target, ways[0].config, Backend::kAuto, Skipping::kOff});
  }
  ways.push_back({"reference", "", "", Backend::kReference});
  return ways;
}

Outputs Run(const Inputs& inputs, const Way& way) {
  const Operands operands(inputs);
  const LibraryMask mask = LibraryMaskOf(inputs.mask, inputs.sizes());
  const LibraryBias bias = LibraryBiasOf(inputs.bias, inputs.sizes());
  Results out(Place(inputs.OutShape(), kQ, OutLayout(inputs.layout)));
  Results lse({inputs.RowsShape(), StridesOf(inputs.RowsShape())});

  RunArgs args;
  args.q = operands.view(kQ);
  args.k = operands.view(kK);
  args.v = operands.view(kV);
  if (!inputs.sinks.empty()) args.sinks = inputs.sinks;
  args.out = out.view();
  args.lse = lse.view();
  AttentionOptions options = inputs.options;
  options.target = way.target;
  options.config = way.config;
  options.backend = way.backend;
  options.skipping = way.skipping;

  Outputs result;
  result.status = Attention(args, mask.mask, bias.bias, options);
  result.wrote = !out.HasMarksOnly() || !lse.HasMarksOnly();
  result.out = out.Take();
  result.lse = lse.Take();
  result.wrote_elsewhere = !out.HasMarksOnly() || !lse.HasMarksOnly();
  return result;
}

}  // namespace skipattn::cases
