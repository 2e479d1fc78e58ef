// Failures of the C interface; see c_error.h.
#include "runtime/c_error.h"

#include <cstring>
#include <exception>
#include <new>
#include <string>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

static_assert(static_cast<int>(StatusCode::kOk) == SKIPATTN_OK, "one numbering");
static_assert(static_cast<int>(StatusCode::kInvalidArgument) == SKIPATTN_INVALID_ARGUMENT, "");
static_assert(static_cast<int>(StatusCode::kOutOfMemory) == SKIPATTN_OUT_OF_MEMORY, "");
static_assert(static_cast<int>(StatusCode::kInternal) == SKIPATTN_INTERNAL, "");

// No string: to report that there is no memory must need none. Longer messages are cut.
thread_local char last_error[1024] = "";

skipattn_status Fail(StatusCode code, const char* message) {
  constexpr size_t kMost = sizeof(last_error) - 1;
  const size_t length = std::strlen(message);
  std::memcpy(last_error, message, length < kMost ? length : kMost);
  last_error[length < kMost ? length : kMost] = '\0';
  if (length > kMost) std::memcpy(last_error + kMost - 3, "...", 3);
  return static_cast<skipattn_status>(code);
}

}  // namespace

skipattn_status Report(const Status& status) {
  return status.ok() ? SKIPATTN_OK : Fail(status.code(), status.message().c_str());
}

skipattn_status ReportException() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Fail(StatusCode::kOutOfMemory, "out of memory");
  } catch (const std::exception& error) {
    return Fail(StatusCode::kInternal, error.what());
  } catch (...) {
    return Fail(StatusCode::kInternal, "an exception of an unknown type");
  }
}

Status NullArgument(const char* name, const char* expected) {
  return Status::InvalidArgument(std::string(name) + " is a null pointer, expected " + expected);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

const char* skipattn_last_error(void) { return skipattn::internal::last_error; }
