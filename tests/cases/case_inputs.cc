// Reads what a case gives to the library; see case_inputs.h.
#include "tests/cases/case_inputs.h"

namespace skipattn::cases {
namespace {

/// In error cases, a type that does not fit: nothing of it is read.
DType DTypeOfName(const std::string& name) {
  return name == "f16" ? DType::kF16 : name == "bf16" ? DType::kBF16 : DType::kF32;
}

EmptyRows PolicyOfName(const std::string& name) {
  if (name == "uniform") return EmptyRows::kUniform;
  return name == "nan" ? EmptyRows::kNan : EmptyRows::kZero;
}

Array ReadOperand(const Json& one, Operand n, const Shape& shape) {
  // Where all heads share one, the file means that one.
  Shape drawn = shape;
  if (one.value("layout", "") == "expanded_kv" && n != kQ) drawn[1] = 1;
  const Json zeros = {{"fill", "zeros"}};
  Array array = ReadArray(one.value(std::string(1, "qkv"[n]), zeros), drawn);
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
  const Json none = Json::object();
  const Json other_shapes = one.value("shapes", none), other_types = one.value("dtypes", none);
  Inputs x;
  x.layout = one.value("layout", "bhtd");
  for (Operand n : {kQ, kK, kV}) {
    const std::string name(1, "qkv"[n]);
    x.qkv[n] = ReadOperand(one, n, other_shapes.value(name, shapes[n]));
    x.dtype[n] = DTypeOfName(other_types.value(name, "f32"));
  }
  x.mask = ReadMask(one.value("mask", Json()), {B, Hq, Tq, Tk});
  x.bias = ReadBias(one.value("bias", Json()), {B, Hq, Tq, Tk});
  if (one.contains("scale")) x.options.scale = one["scale"].get<double>();
  x.options.softcap = one.value("softcap", 0.0);
  x.options.empty_rows = PolicyOfName(one.value("empty_rows", "zero"));
  for (const Json& sink : one.value("sinks", Json::array())) {
    x.sinks.push_back(static_cast<float>(Number(sink)));
  }
  if (one.contains("key_origin")) x.options.key_origin = ReadOrigin(one["key_origin"]);
  x.options.threads = one.value("threads", 0);
  return x;
}

}  // namespace skipattn::cases
