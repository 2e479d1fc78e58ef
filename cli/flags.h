// Flags that several commands have, and library errors as errors of a flag.
#ifndef SKIPATTN_CLI_FLAGS_H_
#define SKIPATTN_CLI_FLAGS_H_

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skipattn/attention.h"

namespace skipattn::cli {

/// Sizes of a problem; 0 = the size that it follows, as the help says.
struct SizeFlags {
  int64_t batch, heads, seq, dim;
  int64_t kv_heads = 0, kv_seq = 0, v_dim = 0;

  void AddTo(CLI::App* command);
  Problem ToProblem() const;
};

/// What chooses the code that runs.
struct RunFlags {
  int threads = 0;
  std::string target, config;

  void AddTo(CLI::App* command);
  /// With the number of threads that will be used in place of 0.
  AttentionOptions ToOptions() const;
};

/// Checks for flags, with a message that says what was expected.
CLI::Validator AtLeast(double least);
CLI::Validator Share();  ///< in [0, 1]
CLI::Validator OneOf(const std::vector<std::string>& names);

/// False where `text` is not an integer and nothing else.
bool ParseInteger(std::string_view text, int64_t* value);

/// Throws where `status` is an error: of usage, with the flag of `command` that sets the argument
/// which the message begins with; of running, if it was no argument.
void Check(const CLI::App& command, const Status& status);

/// The value, or what Check throws.
template <typename T>
T ValueOf(const CLI::App& command, Result<T> result) {
  Check(command, result.status());
  return std::move(result).value();
}

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_FLAGS_H_
