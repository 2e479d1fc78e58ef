// Names of targets and configurations; see skipattn/targets.h.
#include "skipattn/targets.h"

#include "hwy/highway.h"
#include "kernels/tile.h"
#include "runtime/target_table.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// Whether code compiled for the target uses a native fma (HWY_NATIVE_FMA, which only that code can
/// ask for).
bool HasNativeFma(int64_t target) {
  return (target & (HWY_SSE2 | HWY_SSSE3 | HWY_SSE4 | HWY_SCALAR | HWY_EMU128)) == 0;
}

/// Target bits that this CPU can run. Asked for once: in a virtual machine every cpuid instruction
/// leaves it, and Highway's question takes 40 us.
int64_t Supported() {
  static const int64_t supported = hwy::SupportedTargets();
  return supported;
}

/// Calls use(bit) for each compiled target, best first: the lowest bit is the best.
template <class Use>
void ForEachCompiled(Use use) {
  for (int64_t rest = HWY_TARGETS; rest != 0; rest &= rest - 1) use(rest & -rest);
}

}  // namespace

Result<int64_t> FindTarget(const std::string& name) {
  int64_t found = 0;
  std::string names;
  ForEachCompiled([&](int64_t target) {
    if ((Supported() & target) == 0) return;
    names += (names.empty() ? "" : ", ") + std::string(hwy::TargetName(target));
    if (found == 0 && (name.empty() || name == hwy::TargetName(target))) found = target;
  });
  if (found != 0) return found;
  return Status::InvalidArgument("target is \"" + name + "\", expected one of " + names);
}

int64_t CompiledTarget(size_t index) {
  int64_t at = 0;
  size_t n = 0;
  ForEachCompiled([&](int64_t target) {
    if (n++ == index) at = target;
  });
  return at;
}

const char* TargetName(int64_t target) { return hwy::TargetName(target); }

}  // namespace internal

std::vector<TargetInfo> CompiledTargets() {
  std::vector<TargetInfo> targets;
  internal::ForEachCompiled([&](int64_t target) {
    const bool supported = (internal::Supported() & target) != 0;
    const size_t lanes = supported ? internal::KernelsF32(target).lanes : 0;
    targets.push_back({hwy::TargetName(target), supported, internal::HasNativeFma(target),
                       static_cast<int>(lanes)});
  });
  return targets;
}

std::string BestTarget() {
  const Result<int64_t> target = internal::FindTarget("");
  return target.ok() ? internal::TargetName(*target) : "none";
}

Result<std::vector<std::string>> TileConfigs(const std::string& target) {
  const Result<int64_t> found = internal::FindTarget(target);
  if (!found.ok()) return found.status();
  const internal::KernelTable table = internal::KernelsF32(*found);
  std::vector<std::string> names;
  for (size_t c = 0; c < table.config_count; ++c) names.emplace_back(table.configs[c].name);
  return names;
}

}  // namespace v0
}  // namespace skipattn
