// Arrays of bools and floats from NumPy's .npy files.
#ifndef SKIPATTN_CLI_NPY_H_
#define SKIPATTN_CLI_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn::cli {

/// The elements of a file and their sizes.
struct NpyArray {
  DType dtype = DType::kBool;
  std::vector<uint8_t> bytes;
  std::vector<int64_t> shape;
  bool fortran_order = false;

  /// Of `bytes`, which it borrows.
  ConstTensor View() const;
};

/// Reads a file of one to four axes of bools (a mask) or float32 (a bias), of any format version.
/// The error begins with `flag` and says what is wrong with the file.
Result<NpyArray> ReadNpy(const std::string& flag, const std::string& path, DType dtype);

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_NPY_H_
