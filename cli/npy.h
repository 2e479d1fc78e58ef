// Arrays of bools from NumPy's .npy files.
#ifndef SKIPATTN_CLI_NPY_H_
#define SKIPATTN_CLI_NPY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn::cli {

/// The bools of a file and their sizes.
struct NpyBools {
  std::vector<uint8_t> values;
  std::vector<int64_t> shape;
  bool fortran_order = false;

  /// Of `values`, which it borrows.
  ConstTensor View() const;
};

/// Reads a file of one to four axes, of any format version. The error says what is wrong with it.
Result<NpyBools> ReadNpyBools(const std::string& path);

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_NPY_H_
