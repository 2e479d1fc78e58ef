// Reads the stated numbers of a case; see case_stated.h.
#include "tests/cases/case_stated.h"

#include <algorithm>
#include <string>
#include <vector>

namespace skipattn::cases {
namespace {

/// [3, "5-7"] is 3, 5, 6, 7.
std::vector<int64_t> ReadList(const Json& json) {
  std::vector<int64_t> numbers;
  for (const Json& item : json.is_array() ? json : Json::array({json})) {
    if (item.is_number()) {
      numbers.push_back(item);
      continue;
    }
    const std::string text = item;
    const int64_t last = std::stoll(text.substr(text.find('-') + 1));
    for (int64_t n = std::stoll(text); n <= last; ++n) numbers.push_back(n);
  }
  return numbers;
}

/// The positions on an axis that a row of `expect` means; all where the axis is not named.
std::vector<int64_t> ReadAxis(const Json& row, const char* axis, int64_t size) {
  if (row.contains(axis)) return ReadList(row[axis]);
  std::vector<int64_t> all(static_cast<size_t>(size));
  for (int64_t n = 0; n < size; ++n) all[static_cast<size_t>(n)] = n;
  return all;
}

/// The mean of v over some keys of a head.
std::vector<double> MeanOfKeys(const Array& v, int64_t b, int64_t kv_head,
                               const std::vector<int64_t>& keys) {
  const int64_t T = v.shape[2], D = v.shape[3];
  std::vector<double> mean(static_cast<size_t>(D), 0.0);
  for (int64_t j : keys) {
    for (int64_t d = 0; d < D; ++d) {
      mean[static_cast<size_t>(d)] +=
          v.values.at(static_cast<size_t>(((b * v.shape[1] + kv_head) * T + j) * D + d)) /
          static_cast<double>(keys.size());
    }
  }
  return mean;
}

void PutRow(const Json& stated, const Inputs& x, const Shape& at, Float64* want) {
  const Shape out_shape = x.OutShape();
  const auto row = static_cast<size_t>((at[0] * out_shape[1] + at[1]) * out_shape[2] + at[2]);
  const auto v_dim = static_cast<size_t>(out_shape[3]);
  std::vector<double> out;
  if (stated.contains("out")) {
    out = BroadcastTo(ReadArray(stated["out"], {}), {out_shape[3]}).values;
  }
  if (stated.contains("keys")) {
    const Array& v = x.qkv[kV];
    out = MeanOfKeys(v, at[0], at[1] / (out_shape[1] / v.shape[1]), ReadList(stated["keys"]));
  }
  std::copy(out.begin(), out.end(), want->out.begin() + static_cast<int64_t>(row * v_dim));
  if (stated.contains("lse")) want->lse.at(row) = Number(stated["lse"]);
}

}  // namespace

void PutStatedNumbers(const Json& expect, const Inputs& x, Float64* want) {
  const Shape shape = x.OutShape();
  if (expect.contains("out")) {
    want->out = BroadcastTo(ReadArray(expect["out"], {}), shape).values;
  }
  if (expect.contains("lse")) {
    want->lse = BroadcastTo(ReadArray(expect["lse"], {}), x.RowsShape()).values;
  }
  for (const Json& row : expect.value("rows", Json::array())) {
    for (int64_t b : ReadAxis(row, "b", shape[0])) {
      for (int64_t h : ReadAxis(row, "h", shape[1])) {
        for (int64_t i : ReadAxis(row, "i", shape[2])) PutRow(row, x, {b, h, i}, want);
      }
    }
  }
}

}  // namespace skipattn::cases
