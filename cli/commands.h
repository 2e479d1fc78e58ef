// The subcommands. Each adds itself to the app; its callback does the work when it was asked for.
#ifndef SKIPATTN_CLI_COMMANDS_H_
#define SKIPATTN_CLI_COMMANDS_H_

#include <CLI/CLI.hpp>

namespace skipattn::cli {

void AddInfo(CLI::App* app);
void AddBench(CLI::App* app);
void AddExplain(CLI::App* app);

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_COMMANDS_H_
