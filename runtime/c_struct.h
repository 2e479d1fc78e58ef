// Structs of the C interface, which begin with their size: read from and written to callers that
// were compiled against another version of the header.
#ifndef SKIPATTN_RUNTIME_C_STRUCT_H_
#define SKIPATTN_RUNTIME_C_STRUCT_H_

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "skipattn/skipattn.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The macro that a caller should have begun with.
inline const char* InitMacro(const skipattn_tensor*) { return "SKIPATTN_TENSOR_INIT"; }
inline const char* InitMacro(const skipattn_diagonal*) { return "SKIPATTN_DIAGONAL_INIT"; }
inline const char* InitMacro(const skipattn_problem*) { return "SKIPATTN_PROBLEM_INIT"; }
inline const char* InitMacro(const skipattn_options*) { return "SKIPATTN_OPTIONS_INIT"; }
inline const char* InitMacro(const skipattn_carry*) { return "SKIPATTN_CARRY_INIT"; }
inline const char* InitMacro(const skipattn_merge_args*) { return "SKIPATTN_MERGE_ARGS_INIT"; }
inline const char* InitMacro(const skipattn_run_args*) { return "SKIPATTN_RUN_ARGS_INIT"; }
inline const char* InitMacro(const skipattn_stats*) { return "SKIPATTN_STATS_INIT"; }
inline const char* InitMacro(const skipattn_target_info*) { return "SKIPATTN_TARGET_INFO_INIT"; }

/// Gives the size that a caller's struct begins with, if it can be one of a version of the struct
/// that is `known` bytes here: of whole fields (no field crosses a multiple of `alignment`) and not
/// beyond reason.
Status ReadStructSize(const char* name, const char* macro, const void* given, size_t known,
                      size_t alignment, size_t* size);

/// An error if a byte that this library does not know is not 0.
Status CheckUnknownBytes(const char* name, const void* given, size_t size, size_t known);

/// Copies a caller's struct to `*full`; fields that the caller does not know become 0, which is
/// the default of every field. `name` is the argument's.
template <typename Struct>
Status ReadStruct(const char* name, const Struct* given, Struct* full) {
  size_t size = 0;
  Status status =
      ReadStructSize(name, InitMacro(given), given, sizeof(Struct), alignof(Struct), &size);
  if (!status.ok()) return status;
  if (status = CheckUnknownBytes(name, given, size, sizeof(Struct)); !status.ok()) return status;
  *full = Struct();
  std::memcpy(full, given, std::min(size, sizeof(Struct)));
  return {};
}

/// The way back: as much as the caller knows; what this library does not know becomes 0.
template <typename Struct>
Status WriteStruct(const char* name, const Struct& full, Struct* given) {
  size_t size = 0;
  Status status =
      ReadStructSize(name, InitMacro(given), given, sizeof(Struct), alignof(Struct), &size);
  if (!status.ok()) return status;
  std::memset(static_cast<void*>(given), 0, size);
  std::memcpy(given, &full, std::min(size, sizeof(Struct)));
  given->struct_size = size;
  return {};
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_C_STRUCT_H_
