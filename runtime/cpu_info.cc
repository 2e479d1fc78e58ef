// Threads that the process may use.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

#include "skipattn/targets.h"

namespace skipattn {
inline namespace v0 {
namespace {

int AffinityThreads() {
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return CPU_COUNT(&set);
#endif
  return static_cast<int>(std::thread::hardware_concurrency());
}

/// CPUs that the container's quota allows, rounded up; 0 where there is none. (cgroup v2, then v1;
/// a container sees its own group at the root.)
int QuotaThreads() {
  double quota = -1, period = 0;
  std::string text;
  if (std::ifstream file("/sys/fs/cgroup/cpu.max"); file >> text >> period) {
    if (text == "max") return 0;
    quota = std::atof(text.c_str());
  } else {
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_quota_us") >> quota;
    std::ifstream("/sys/fs/cgroup/cpu/cpu.cfs_period_us") >> period;
  }
  if (!(quota > 0) || !(period > 0)) return 0;
  return static_cast<int>(std::ceil(quota / period));
}

}  // namespace

int AvailableThreads() {
  const int affinity = std::max(AffinityThreads(), 1);
  static const int quota = QuotaThreads();  // reading it takes longer than a small plan
  return quota > 0 ? std::min(affinity, quota) : affinity;
}

}  // namespace v0
}  // namespace skipattn
