// Reads cases and arrays; see case_data.h.
#include "tests/cases/case_data.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <stdexcept>

#include "bench/hash.h"

namespace skipattn::cases {
namespace {

std::vector<Json> ReadCases(const char* path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(std::string("cannot read ") + path);
  std::vector<Json> cases;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty()) cases.push_back(Json::parse(line));
  }
  return cases;
}

/// "field=value" of the plain fields of a sweep entry, joined by commas.
std::string NameOf(const Json& change) {
  if (change.contains("as")) return change["as"].get<std::string>();
  std::string name;
  for (const auto& [key, value] : change.items()) {
    if (value.is_structured()) continue;
    name += (name.empty() ? "" : ",") + key + "=" +
            (value.is_string() ? value.get<std::string>() : value.dump());
  }
  return name;
}

void Copy(const char* from, std::initializer_list<const char*> to, Json* fields) {
  const Json value = (*fields)[from];
  for (const char* name : to) (*fields)[name] = value;
}

/// Close to normal: the sum of twelve uniform numbers, made of integers, so that the bits are the
/// same on every machine. No stated number depends on which normal numbers they are.
float Normal(uint64_t seed, uint64_t n) {
  uint64_t sum = 0;
  for (uint64_t word = 0; word < 6; ++word) {
    const uint64_t bits = bench::Hash64(seed, 6 * n + word);
    sum += (bits >> 32) + (bits & 0xFFFFFFFFu);
  }
  return static_cast<float>(static_cast<double>(sum) * 0x1p-32 - 6.0);
}

bool IsBelow(double p, uint64_t seed, uint64_t n) {
  return static_cast<double>(bench::Hash64(seed, n) >> 11) * 0x1p-53 < p;
}

double FillValue(const Json& spec, const Shape& shape, int64_t n) {
  const std::string fill = spec["fill"];
  const uint64_t seed = spec.value("seed", uint64_t{0});
  if (fill == "zeros") return 0;
  if (fill == "ones") return 1;
  if (fill == "arange") return static_cast<double>(n);
  if (fill == "normal") return Normal(seed, static_cast<uint64_t>(n));
  if (fill == "random") return IsBelow(spec["p"], seed, static_cast<uint64_t>(n));
  const int64_t j = n / shape.at(3) % shape[2], d = n % shape[3];
  if (fill == "pow2") return std::ldexp(1.0, static_cast<int>(j));
  if (fill == "eye") return j % shape[3] == d;
  throw std::runtime_error("unknown fill " + fill);
}

Array Fill(const Json& spec, const Shape& shape) {
  Array array{shape, std::vector<double>(static_cast<size_t>(CountOf(shape)))};
  for (size_t n = 0; n < array.values.size(); ++n) {
    array.values[n] = FillValue(spec, shape, static_cast<int64_t>(n));
  }
  return array;
}

void AppendLiteral(const Json& json, Array* array) {
  if (!json.is_array()) {
    array->values.push_back(Number(json));
    return;
  }
  for (const Json& part : json) AppendLiteral(part, array);
}

Array Literal(const Json& json) {
  Array array;
  for (const Json* level = &json; level->is_array(); level = &level->front()) {
    array.shape.push_back(static_cast<int64_t>(level->size()));
    if (level->empty()) break;
  }
  AppendLiteral(json, &array);
  return array;
}

/// Writes one entry of `set`: an index per axis (a number, "a:b" or null), then the value.
void Set(const Json& entry, Array* array) {
  const Shape stride = StridesOf(array->shape);
  Shape size(array->shape.size());
  int64_t start = 0;
  for (size_t axis = 0; axis < size.size(); ++axis) {
    const Json& where = entry.at(axis);
    int64_t begin = 0, end = array->shape[axis];
    if (where.is_number()) {
      begin = where;
      end = begin + 1;
    } else if (where.is_string()) {
      const std::string text = where;
      begin = std::stoll(text);
      end = std::min<int64_t>(end, std::stoll(text.substr(text.find(':') + 1)));
    }
    start += begin * stride[axis];
    size[axis] = std::max<int64_t>(end - begin, 0);
  }
  const double value = Number(entry.back());
  ForEachElement(size, stride, [&](int64_t, int64_t at) {
    array->values.at(static_cast<size_t>(start + at)) = value;
  });
}

}  // namespace

const std::vector<Json>& AllCases() {
  static const std::vector<Json> cases = ReadCases(SKIPATTN_CASES_FILE);
  return cases;
}

std::vector<Json> Expand(const Json& one_case) {
  std::vector<Json> all;
  for (const Json& change : one_case.value("sweep", Json::array({Json::object()}))) {
    Json one = one_case;
    one.erase("sweep");
    one.update(change);
    if (!change.empty()) {
      one["id"] = one_case["id"].get<std::string>() + "@" + NameOf(change);
    }
    if (one.contains("T")) Copy("T", {"Tq", "Tk"}, &one);
    if (one.contains("DD")) Copy("DD", {"D", "Dv"}, &one);
    if (!one.contains("Hkv")) Copy("Hq", {"Hkv"}, &one);
    if (!one.contains("Dv")) Copy("D", {"Dv"}, &one);
    all.push_back(std::move(one));
  }
  return all;
}

double Number(const Json& json) {
  return json.is_string() ? std::strtod(json.get<std::string>().c_str(), nullptr)
                          : json.get<double>();
}

int64_t CountOf(const Shape& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}

Shape StridesOf(const Shape& shape) {
  Shape stride(shape.size());
  int64_t step = 1;
  for (size_t axis = shape.size(); axis-- > 0; step *= shape[axis]) stride[axis] = step;
  return stride;
}

Array Gather(const Array& from, const Shape& shape, const Shape& stride, int64_t start) {
  Array array{shape, std::vector<double>(static_cast<size_t>(CountOf(shape)))};
  ForEachElement(shape, stride, [&](int64_t n, int64_t at) {
    array.values[static_cast<size_t>(n)] = from.values.at(static_cast<size_t>(start + at));
  });
  return array;
}

Array BroadcastTo(const Array& from, const Shape& shape) {
  const Shape own = StridesOf(from.shape);
  Shape stride(shape.size(), 0);
  const size_t added = shape.size() - from.shape.size();
  for (size_t axis = 0; axis < own.size(); ++axis) {
    const bool repeated = from.shape[axis] == 1;
    if (!repeated && from.shape[axis] != shape.at(added + axis)) {
      throw std::runtime_error("a literal array does not have the shape of its place");
    }
    stride[added + axis] = repeated ? 0 : own[axis];
  }
  return Gather(from, shape, stride);
}

Array ReadArray(const Json& spec, const Shape& shape) {
  const bool fill = spec.is_object() && spec.contains("fill");
  Array array = fill ? Fill(spec, shape) : Literal(spec.is_object() ? spec["data"] : spec);
  if (!spec.is_object()) return array;
  if (spec.contains("scale")) {
    const auto scale = static_cast<float>(Number(spec["scale"]));
    for (double& value : array.values) value = static_cast<float>(value) * scale;
  }
  for (const Json& entry : spec.value("set", Json::array())) Set(entry, &array);
  return array;
}

}  // namespace skipattn::cases
