// Shared flags.
#include "cli/flags.h"

#include <charconv>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <system_error>

namespace skipattn::cli {
namespace {

constexpr double kMaxThreads = 1024;  // OpenMP runtimes crash on absurd numbers

// The flag that sets the argument a library message begins with; empty if the command has none.
std::string FlagOf(const CLI::App& command, const std::string& message) {
  std::string name = message.substr(0, message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_"));
  if (name == "q_len") name = "seq";
  if (name == "k_len") name = "kv_seq";
  if (name == "prefix_causal") name = "prefix";
  for (char& c : name) {
    if (c == '_') c = '-';
  }
  const std::string flag = "--" + name;
  return command.get_option_no_throw(flag) != nullptr ? flag : "";
}

CLI::Validator Between(double least, double most, const std::string& expected) {
  // Without a name, which would stand in the help behind that of the value.
  return CLI::Validator(
      [=](const std::string& text) {
        char* end = nullptr;
        const double value = std::strtod(text.c_str(), &end);
        const bool number = end == text.c_str() + text.size() && !text.empty();
        if (number && value >= least && value <= most) return std::string();
        return "\"" + text + "\" is not " + expected;
      },
      "");
}

}  // namespace

void SizeFlags::AddTo(CLI::App* command) {
  command->option_defaults()->group("Sizes");
  command->add_option("--batch", batch, "Sequences")->capture_default_str();
  command->add_option("--heads", heads, "Query heads")->capture_default_str();
  command->add_option("--kv-heads", kv_heads, "Key and value heads (default: as --heads)");
  command->add_option("--seq", seq, "Queries of a sequence")->capture_default_str();
  command->add_option("--kv-seq", kv_seq, "Keys of a sequence (default: as --seq)");
  command->add_option("--dim", dim, "Width of a head of q and k")->capture_default_str();
  command->add_option("--v-dim", v_dim, "Width of a head of v (default: as --dim)");
  for (CLI::Option* option : command->get_options()) {
    if (option->get_group() == "Sizes") option->check(AtLeast(1))->type_name("N");
  }
}

Problem SizeFlags::ToProblem() const {
  Problem problem;
  problem.batch = batch;
  problem.heads = heads;
  problem.kv_heads = kv_heads != 0 ? kv_heads : heads;
  problem.q_len = seq;
  problem.k_len = kv_seq != 0 ? kv_seq : seq;
  problem.dim = dim;
  problem.v_dim = v_dim != 0 ? v_dim : dim;
  return problem;
}

void RunFlags::AddTo(CLI::App* command) {
  command->option_defaults()->group("Running");
  command->add_option("--threads", threads, "Threads; 0 = all that this process may use")
      ->check(Between(0, kMaxThreads, "a number from 0 to 1024"))
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--target", target, "Instruction set, see `skipattn info` (default: the best)")
      ->type_name("NAME");
  command->add_option("--config", config, "Tile configuration, see `skipattn info`")
      ->type_name("NAME");
}

AttentionOptions RunFlags::ToOptions() const {
  AttentionOptions options;
  options.threads = threads != 0 ? threads : AvailableThreads();
  options.target = target;
  options.config = config;
  return options;
}

CLI::Validator AtLeast(double least) {
  return Between(least, std::numeric_limits<double>::max(),
                 "a number from " + std::to_string(static_cast<int64_t>(least)));
}

CLI::Validator Share() { return Between(0, 1, "a number from 0 to 1"); }

CLI::Validator OneOf(const std::vector<std::string>& names) {
  return CLI::IsMember(names).description("");
}

bool ParseInteger(std::string_view text, int64_t* value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, *value);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

void Check(const CLI::App& command, const Status& status) {
  if (status.ok()) return;
  if (status.code() != StatusCode::kInvalidArgument) throw std::runtime_error(status.message());
  const std::string flag = FlagOf(command, status.message());
  throw CLI::ValidationError(flag.empty() ? command.get_name() : flag, status.message());
}

}  // namespace skipattn::cli
