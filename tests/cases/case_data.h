// The cases of cases.jsonl and the arrays that they describe; README.md tells the format.
#ifndef SKIPATTN_TESTS_CASES_CASE_DATA_H_
#define SKIPATTN_TESTS_CASES_CASE_DATA_H_

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace skipattn::cases {

using Json = nlohmann::ordered_json;
using Shape = std::vector<int64_t>;  // also strides and indices

/// All cases of the file, in its order. Throws where the file cannot be read.
const std::vector<Json>& AllCases();

/// The case itself, or one for each entry of its sweep, with the sizes B, Hq, Hkv, Tq, Tk, D and
/// Dv all filled in.
std::vector<Json> Expand(const Json& one_case);

/// A number, also of the strings "nan", "inf" and "-inf".
double Number(const Json& json);

/// An array in C order. Doubles hold all that occurs: floats, positions, ids and truth values.
struct Array {
  Shape shape;
  std::vector<double> values;
};

int64_t CountOf(const Shape& shape);
Shape StridesOf(const Shape& shape);  ///< of C order

/// Calls f(n, at) for the elements of an array in C order: n counts them, `at` is where the
/// element is in memory with these strides, counted from element 0.
template <typename F>
void ForEachElement(const Shape& shape, const Shape& stride, F f) {
  Shape index(shape.size(), 0);
  int64_t at = 0;
  const int64_t count = CountOf(shape);
  for (int64_t n = 0; n < count; ++n) {
    f(n, at);
    for (size_t axis = shape.size(); axis-- > 0;) {
      at += stride[axis];
      if (++index[axis] < shape[axis]) break;
      at -= stride[axis] * shape[axis];
      index[axis] = 0;
    }
  }
}

/// The elements that `shape` and `stride` see from element `start` of `from` on.
Array Gather(const Array& from, const Shape& shape, const Shape& stride, int64_t start = 0);

/// Axes of one element repeated, axes added in front.
Array BroadcastTo(const Array& from, const Shape& shape);

/// Literal data (of its own shape), or a fill of `shape`; then its `scale`, then its `set`.
Array ReadArray(const Json& spec, const Shape& shape);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_DATA_H_
