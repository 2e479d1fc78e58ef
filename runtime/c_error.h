// How a function of the C interface ends: nothing thrown, a status, a message for the thread.
#ifndef SKIPATTN_RUNTIME_C_ERROR_H_
#define SKIPATTN_RUNTIME_C_ERROR_H_

#include "skipattn/skipattn.h"
#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The status for C. A failure's message becomes the thread's last one.
skipattn_status Report(const Status& status);

/// The same for the exception that is being handled.
skipattn_status ReportException();

/// Runs the body of a C function, which returns a Status.
template <typename Body>
skipattn_status Guard(const Body& body) {
  try {
    return Report(body());
  } catch (...) {
    return ReportException();
  }
}

/// "NAME is a null pointer, expected WHAT".
Status NullArgument(const char* name, const char* expected);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_C_ERROR_H_
