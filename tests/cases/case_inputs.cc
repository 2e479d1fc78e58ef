// Makes the arguments of a run and runs it; see case_inputs.h.
#include "tests/cases/case_inputs.h"

#include <cmath>
#include <stdexcept>

namespace skipattn::cases {
namespace {

constexpr float kUnwritten = -54321.0f;
constexpr size_t kGuard = 16;  // elements after the last one that nobody may touch

/// Where the elements of an array are in its memory.
struct Placement {
  Shape stride;
  int64_t start = 0;
};

Placement Place(const Array& array, Operand operand, const std::string& layout) {
  const Shape& shape = array.shape;
  const int64_t H = shape[1], T = shape[2], D = shape[3];
  Placement at{StridesOf(shape)};
  if (layout == "bthd") {
    at.stride = {T * H * D, D, H * D, 1};
  } else if (layout == "packed_qkv") {  // one buffer [B, T, 3, H, D]
    at.stride = {T * 3 * H * D, D, 3 * H * D, 1};
    at.start = static_cast<int64_t>(operand) * H * D;
  } else if (layout == "row_pad") {
    at.stride = {H * T * (D + 5), T * (D + 5), D + 5, 1};
  } else if (layout == "expanded_kv") {  // one key head that all read
    if (operand != kQ) at.stride = {T * D, 0, D, 1};
  } else if (layout == "odd_strides") {
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      if (shape[axis] == 1) at.stride[axis] = 999;
    }
  } else if (layout == "strided_last") {
    for (int64_t& stride : at.stride) stride *= 2;
  } else if (layout != "bhtd") {
    throw std::runtime_error("unknown layout " + layout);
  }
  return at;
}

/// The layout of `out` beside q, k and v in `layout`.
std::string OutLayout(const std::string& layout) {
  if (layout == "packed_qkv") return "bthd";
  return layout == "expanded_kv" || layout == "strided_last" ? "bhtd" : layout;
}

size_t RoomFor(const Shape& shape, const Placement& at) {
  int64_t last = at.start;
  for (size_t axis = 0; axis < shape.size(); ++axis) last += (shape[axis] - 1) * at.stride[axis];
  return CountOf(shape) == 0 ? kGuard : static_cast<size_t>(last) + 1 + kGuard;
}

template <typename View>
View ViewOf(float* memory, DType dtype, const Shape& shape, const Placement& at) {
  View view;
  view.data = memory + at.start;
  view.dtype = dtype;
  view.rank = static_cast<int>(shape.size());
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    view.shape[axis] = shape[axis];
    view.stride[axis] = at.stride[axis];
  }
  return view;
}

/// q, k and v in memory; what lies between their elements is NaN.
class Operands {
 public:
  explicit Operands(const Inputs& x) {
    Placement at[kOperands];
    for (Operand n : {kQ, kK, kV}) {
      at[n] = Place(x.qkv[n], n, x.layout);
      std::vector<float>& memory = MemoryOf(n, x.layout);
      memory.resize(std::max(memory.size(), RoomFor(x.qkv[n].shape, at[n])), NAN);
      ForEachElement(x.qkv[n].shape, at[n].stride, [&](int64_t element, int64_t place) {
        memory.at(static_cast<size_t>(at[n].start + place)) =
            static_cast<float>(x.qkv[n].values[static_cast<size_t>(element)]);
      });
    }
    for (Operand n : {kQ, kK, kV}) {
      views_[n] =
          ViewOf<ConstTensor>(MemoryOf(n, x.layout).data(), x.dtype[n], x.qkv[n].shape, at[n]);
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
class Target {
 public:
  Target(const Shape& shape, const Placement& at)
      : shape_(shape), at_(at), memory_(RoomFor(shape, at), kUnwritten) {}

  Tensor view() { return ViewOf<Tensor>(memory_.data(), DType::kF32, shape_, at_); }

  bool HasMarksOnly() const {
    for (float value : memory_) {
      if (value != kUnwritten) return false;
    }
    return true;
  }

  /// The elements, in whose place marks are left.
  std::vector<float> Take() {
    std::vector<float> elements;
    ForEachElement(shape_, at_.stride, [&](int64_t, int64_t place) {
      float& element = memory_.at(static_cast<size_t>(at_.start + place));
      elements.push_back(element);
      element = kUnwritten;
    });
    return elements;
  }

 private:
  const Shape shape_;
  const Placement at_;
  std::vector<float> memory_;
};

DType DTypeOfName(const std::string& name) {
  return name == "f16" ? DType::kF16 : name == "bf16" ? DType::kBF16 : DType::kF32;
}

/// The fill is of the shape that the layout holds: one head of k and v where all share it.
Array ReadOperand(const Json& one, Operand n, const Shape& shape) {
  Shape drawn = shape;
  if (one.value("layout", "") == "expanded_kv" && n != kQ) drawn[1] = 1;
  const char name[] = {"qkv"[n], '\0'};
  Array array =
      one.contains(name) ? ReadArray(one[name], drawn) : ReadArray(Json{{"fill", "zeros"}}, drawn);
  array = BroadcastTo(array, shape);
  for (double& value : array.values) value = static_cast<float>(value);
  return array;
}

}  // namespace

std::vector<int64_t> ReadOrigin(const Json& json) {
  if (json.is_array()) return json;
  return {json.get<int64_t>()};
}

Inputs MakeInputs(const Json& one) {
  const int64_t B = one["B"], Hq = one["Hq"], Hkv = one["Hkv"], Tq = one["Tq"], Tk = one["Tk"];
  const int64_t D = one["D"], Dv = one["Dv"];
  const Shape shapes[kOperands] = {{B, Hq, Tq, D}, {B, Hkv, Tk, D}, {B, Hkv, Tk, Dv}};
  Inputs x;
  x.layout = one.value("layout", "bhtd");
  for (Operand n : {kQ, kK, kV}) {
    const std::string name(1, "qkv"[n]);
    const Json no_changes = Json::object();
    x.qkv[n] = ReadOperand(one, n, one.value("shapes", no_changes).value(name, shapes[n]));
    x.dtype[n] = DTypeOfName(one.value("dtypes", no_changes).value(name, "f32"));
  }
  x.mask = ReadMask(one.value("mask", Json()), {B, Hq, Tq, Tk});
  if (one.contains("scale")) x.options.scale = one["scale"].get<double>();
  if (one.contains("key_origin")) x.options.key_origin = ReadOrigin(one["key_origin"]);
  x.options.threads = one.value("threads", 0);
  return x;
}

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
  Array out_like{inputs.OutShape(), {}};
  Target out(inputs.OutShape(), Place(out_like, kQ, OutLayout(inputs.layout)));
  Target lse(inputs.RowsShape(), {StridesOf(inputs.RowsShape())});

  RunArgs args;
  args.q = operands.view(kQ);
  args.k = operands.view(kK);
  args.v = operands.view(kV);
  args.out = out.view();
  args.lse = lse.view();
  AttentionOptions options = inputs.options;
  options.target = way.target;
  options.config = way.config;
  options.backend = way.backend;
  options.skipping = way.skipping;

  Outputs result;
  result.status = Attention(args, mask.mask, options);
  result.wrote = !out.HasMarksOnly() || !lse.HasMarksOnly();
  result.out = out.Take();
  result.lse = lse.Take();
  result.wrote_elsewhere = !out.HasMarksOnly() || !lse.HasMarksOnly();
  return result;
}

}  // namespace skipattn::cases
