// Which instruction sets the library was compiled for, and which this CPU can run.
#ifndef SKIPATTN_TARGETS_H_
#define SKIPATTN_TARGETS_H_

#include <string>
#include <vector>

#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {

struct TargetInfo {
  std::string name;  ///< Highway's name: "SSE2", "AVX2", "AVX3", "NEON", "SVE", ...
  bool supported;    ///< this CPU can run it
  bool exact;        ///< has a native fma, so gives the bits of the exact arithmetic
  int lanes;         ///< f32 lanes of a vector; 0 where not supported
};

/// All compiled targets, best first.
SKIPATTN_API std::vector<TargetInfo> CompiledTargets();

/// The target that a plan uses when none is asked for.
SKIPATTN_API std::string BestTarget();

/// Names of the tile configurations compiled for a target, the default first. An empty name means
/// the best target. An unknown target is an error that lists the known ones.
SKIPATTN_API Result<std::vector<std::string>> TileConfigs(const std::string& target = "");

/// Threads that this process may use: its affinity and its container's quota.
SKIPATTN_API int AvailableThreads();

}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_TARGETS_H_
