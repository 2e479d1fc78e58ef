// Facts of the machine that a reader of a measurement asks for.
#ifndef SKIPATTN_CLI_MACHINE_H_
#define SKIPATTN_CLI_MACHINE_H_

#include <string>
#include <vector>

namespace skipattn::cli {

struct Cache {
  std::string level, type, size, cpus;  ///< as the kernel prints them: "1", "Data", "32K", "0-1"
};

/// Of the first CPU; empty where the system does not tell.
std::vector<Cache> Caches();

/// The model's name, or "unknown".
std::string CpuModel();

/// Name and version of the compiler of this program.
std::string Compiler();

/// Whether an OpenMP runtime is in this process.
bool HasOpenMp();

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_MACHINE_H_
