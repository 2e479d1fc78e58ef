// Names, sizes and version numbers.
#include "skipattn/status.h"

#include <cstddef>

#include "skipattn/tensor.h"
#include "skipattn/version.h"

#define SKIPATTN_TEXT(number) #number
#define SKIPATTN_VERSION_TEXT(major, minor, patch) \
  SKIPATTN_TEXT(major) "." SKIPATTN_TEXT(minor) "." SKIPATTN_TEXT(patch)

namespace skipattn {
inline namespace v0 {

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return "f32";
    case DType::kBF16:
      return "bf16";
    case DType::kF16:
      return "f16";
    case DType::kBool:
      return "bool";
    case DType::kI32:
      return "i32";
    case DType::kI64:
      return "i64";
  }
  return "unknown";
}

size_t DTypeSize(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kBF16:
    case DType::kF16:
      return 2;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kI64:
      return 8;
  }
  return 0;
}

const char* Version() {
  return SKIPATTN_VERSION_TEXT(SKIPATTN_VERSION_MAJOR, SKIPATTN_VERSION_MINOR,
                               SKIPATTN_VERSION_PATCH);
}

int ArithmeticVersion() { return 1; }

}  // namespace v0
}  // namespace skipattn
