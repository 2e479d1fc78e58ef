// The .npy format: "\x93NUMPY", a version, the length of a header, the header (the text of a Python
// dict: descr, fortran_order, shape), the elements. Its definition: numpy.lib.format.
#include "cli/npy.h"

#include <fstream>
#include <iterator>
#include <regex>
#include <string_view>
#include <utility>

#include "cli/flags.h"

namespace skipattn::cli {
namespace {

// Where the header begins and ends; {0, 0} where this is no such file.
std::pair<size_t, size_t> HeaderOf(const std::string& bytes) {
  if (bytes.size() < 12 || std::string_view(bytes).substr(0, 6) != "\x93NUMPY") return {0, 0};
  const auto byte = [&](size_t at) { return size_t{static_cast<unsigned char>(bytes[at])}; };
  size_t length = byte(8) | byte(9) << 8, begin = 10;
  if (byte(6) > 1) {
    length |= byte(10) << 16 | byte(11) << 24;
    begin = 12;
  }
  if (length > bytes.size() - begin) return {0, 0};
  return {begin, begin + length};
}

// The numbers of "3, 5,".
bool ParseShape(const std::string& text, std::vector<int64_t>* shape) {
  static const std::regex kNumber("[0-9]+");
  for (std::sregex_iterator at(text.begin(), text.end(), kNumber), end; at != end; ++at) {
    int64_t size = 0;
    if (!ParseInteger(at->str(), &size)) return false;
    shape->push_back(size);
  }
  return true;
}

}  // namespace

ConstTensor NpyArray::View() const {
  ConstTensor view;
  view.data = bytes.data();
  view.dtype = dtype;
  view.rank = static_cast<int>(shape.size());
  int64_t step = 1;
  for (size_t n = 0; n < shape.size(); ++n) {
    const size_t axis = fortran_order ? n : shape.size() - 1 - n;
    view.shape[axis] = shape[axis];
    view.stride[axis] = step;
    step *= shape[axis];
  }
  return view;
}

Result<NpyArray> ReadNpy(const std::string& flag, const std::string& path, DType dtype) {
  const auto wrong = [&](const std::string& what) {
    return Status::InvalidArgument(flag + ": " + path + " " + what);
  };
  std::ifstream file(path, std::ios::binary);
  if (!file) return wrong("cannot be read");
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto [begin, end] = HeaderOf(bytes);
  if (end == 0) return wrong("is no .npy file; numpy.save writes them");
  const std::string header = bytes.substr(begin, end - begin);
  std::smatch descr, order, shape;
  if (!std::regex_search(header, descr, std::regex("'descr': *'([^']*)'")) ||
      !std::regex_search(header, order, std::regex("'fortran_order': *(True|False)")) ||
      !std::regex_search(header, shape, std::regex("'shape': *\\(([0-9, ]*)\\)"))) {
    return wrong("has a header that names no type, order and shape of one array");
  }
  if (dtype == DType::kF32 && descr[1] != "<f4") {
    return wrong("holds elements of type " + descr[1].str() +
                 ", a bias is made of float32: save bias.astype('float32')");
  }
  if (dtype == DType::kBool && descr[1] != "|b1" && descr[1] != "?") {
    return wrong("holds elements of type " + descr[1].str() +
                 ", a mask is made of bools: save mask.astype(bool), or mask == 0 where "
                 "0 means attend");
  }
  NpyArray array;
  array.dtype = dtype;
  array.fortran_order = order[1] == "True";
  if (!ParseShape(shape[1], &array.shape) || array.shape.empty() || array.shape.size() > 4) {
    return wrong("has the shape (" + shape[1].str() + "), expected one to four axes");
  }
  size_t count = DTypeSize(dtype);
  for (const int64_t size : array.shape) {
    const size_t n = static_cast<size_t>(size);
    if (n != 0 && count > bytes.size() / n) return wrong("is cut off");
    count *= n;
  }
  if (bytes.size() - end < count) return wrong("is cut off");
  array.bytes.assign(bytes.begin() + static_cast<ptrdiff_t>(end),
                     bytes.begin() + static_cast<ptrdiff_t>(end + count));
  return array;
}

}  // namespace skipattn::cli
