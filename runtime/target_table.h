// Names of compiled targets to Highway's target bits.
#ifndef SKIPATTN_RUNTIME_TARGET_TABLE_H_
#define SKIPATTN_RUNTIME_TARGET_TABLE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "skipattn/status.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The Highway bit of a compiled target that this CPU supports; an empty name is the best one.
/// Otherwise an error that lists the names that would do.
Result<int64_t> FindTarget(const std::string& name);

/// The bit of the compiled target at `index` of CompiledTargets().
int64_t CompiledTarget(size_t index);

/// Highway's name of a target bit; it lies in the library.
const char* TargetName(int64_t target);

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_RUNTIME_TARGET_TABLE_H_
