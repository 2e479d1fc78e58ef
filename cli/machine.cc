// Linux's /sys and /proc; elsewhere the facts are unknown.
#include "cli/machine.h"

#include <dlfcn.h>

#include <fstream>

namespace skipattn::cli {
namespace {

// Empty where there is no such file.
std::string FirstLine(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace

std::vector<Cache> Caches() {
  std::vector<Cache> caches;
  while (true) {
    const std::string directory =
        "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(caches.size()) + "/";
    const std::string level = FirstLine(directory + "level");
    if (level.empty()) return caches;
    caches.push_back({level, FirstLine(directory + "type"), FirstLine(directory + "size"),
                      FirstLine(directory + "shared_cpu_list")});
  }
}

std::string CpuModel() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.rfind("model name", 0) == 0 && colon != std::string::npos) {
      return line.substr(colon + 2);
    }
  }
  return "unknown";
}

std::string Compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#else
  return "unknown";
#endif
}

bool HasOpenMp() { return dlsym(RTLD_DEFAULT, "omp_get_max_threads") != nullptr; }

}  // namespace skipattn::cli
