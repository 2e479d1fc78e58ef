// Status and Result: how every public function reports a failure. Nothing in the library throws,
// prints or aborts.
#ifndef SKIPATTN_STATUS_H_
#define SKIPATTN_STATUS_H_

#include <optional>
#include <string>
#include <utility>

#include "skipattn/version.h"

namespace skipattn {
inline namespace v0 {

enum class StatusCode {
  kOk,
  kInvalidArgument,  ///< an argument is wrong; the message names it, what it was and what it should
                     ///< be
  kOutOfMemory,
  kInternal,
};

/// Success, or an error with a message for people.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status InvalidArgument(std::string message) {
    return Status(StatusCode::kInvalidArgument, std::move(message));
  }

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

/// A value, or the error that kept it from being made. `value()` and `*` may be used only when
/// `ok()`.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT: a value is a result
  Result(Status status) : status_(std::move(status)) {}  // NOLINT: so is an error

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }

  T& value() & { return *value_; }
  const T& value() const& { return *value_; }
  T&& value() && { return *std::move(value_); }
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  Status status_;
  std::optional<T> value_;
};

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_STATUS_H_
