// Structs that begin with their size; see c_struct.h.
#include "runtime/c_struct.h"

#include <string>

#include "runtime/c_error.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

using std::to_string;

Status ReadStructSize(const char* name, const char* macro, const void* given, size_t known,
                      size_t alignment, size_t* size) {
  if (given == nullptr) return NullArgument(name, ("a struct from " + std::string(macro)).c_str());
  std::memcpy(size, given, sizeof(*size));
  // So much will never be needed; a size that was not set can be anything.
  constexpr size_t kMost = 4096;
  if (*size > sizeof(*size) && *size <= kMost && *size % alignment == 0) return {};
  return Status::InvalidArgument(std::string(name) + ": struct_size is " + to_string(*size) +
                                 ", expected the size of the struct (here " + to_string(known) +
                                 "), as set by " + macro);
}

Status CheckUnknownBytes(const char* name, const void* given, size_t size, size_t known) {
  const char* bytes = static_cast<const char*>(given);
  for (size_t n = known; n < size; ++n) {
    if (bytes[n] == 0) continue;
    return Status::InvalidArgument(std::string(name) + ": struct_size is " + to_string(size) +
                                   ", of which version " + Version() + " of the library knows " +
                                   to_string(known) + ", and byte " + to_string(n) +
                                   " is not 0, expected a newer library or fields beyond " +
                                   to_string(known) + " bytes that are 0");
  }
  return {};
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
