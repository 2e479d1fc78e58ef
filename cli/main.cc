// The command: parses, runs a subcommand, and turns every failure into one line and an exit code.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "cli/commands.h"
#include "skipattn/version.h"

namespace {

constexpr int kFailed = 1;
constexpr int kBadUsage = 2;

int Fail(std::string message, int code) {
  std::replace(message.begin(), message.end(), '\n', ' ');
  std::cerr << "skipattn: " << message << "\n";
  return code;
}

int Run(int argc, char** argv) {
  CLI::App app("Masked attention for CPUs that does only the work the mask leaves.", "skipattn");
  app.set_version_flag("--version", std::string("skipattn ") + skipattn::Version());
  app.require_subcommand(0, 1);  // none is reported below: here it would hide an unknown word
  app.footer("Every command has its own --help with an example, and takes --json.");
  skipattn::cli::AddInfo(&app);
  skipattn::cli::AddBench(&app);
  skipattn::cli::AddExplain(&app);
  try {
    app.parse(argc, argv);
    if (!app.get_subcommands().empty()) return 0;
    return Fail("a command is missing: info, bench or explain", kBadUsage);
  } catch (const CLI::Success& help_or_version) {
    return app.exit(help_or_version);
  } catch (const CLI::RuntimeError& reported) {
    return reported.get_exit_code();
  } catch (const CLI::ParseError& error) {
    return Fail(error.what(), kBadUsage);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run(argc, argv);
  } catch (const std::bad_alloc&) {
    return Fail("out of memory", kFailed);
  } catch (const std::exception& error) {
    return Fail(error.what(), kFailed);
  }
}
