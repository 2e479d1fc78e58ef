// What the library is and can do here, for the C interface.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/tile.h"
#include "runtime/c_error.h"
#include "runtime/c_struct.h"
#include "runtime/parallel.h"
#include "runtime/target_table.h"
#include "runtime/validate.h"
#include "skipattn/attention.h"

using skipattn::DType;
using skipattn::Result;
using skipattn::Status;
using skipattn::TargetInfo;
using skipattn::internal::Guard;
using skipattn::internal::KernelTable;
using skipattn::internal::NullArgument;

namespace {

/// Whether q, k, v and out may be of the type with this name.
bool HasDType(const std::string& name) {
  for (int n = 0; n <= UINT8_MAX; ++n) {
    const DType dtype = static_cast<DType>(n);
    if (skipattn::DTypeSize(dtype) == 0 || name != skipattn::DTypeName(dtype)) continue;
    skipattn::Problem problem;
    problem.batch = problem.heads = problem.kv_heads = 1;
    problem.q_len = problem.k_len = problem.dim = problem.v_dim = 1;
    problem.q_dtype = problem.kv_dtype = problem.out_dtype = dtype;
    return skipattn::internal::CheckProblem(problem).ok();
  }
  return false;
}

bool HasFeature(const std::string& name) {
  if (name == "openmp") return skipattn::internal::HasOpenMP();
  if (name == "exact") {
    for (const TargetInfo& target : skipattn::CompiledTargets()) {
      if (target.supported) return target.exact;  // the best comes first
    }
    return false;
  }
  return HasDType(name);
}

Status BadIndex(size_t index, size_t count) {
  return Status::InvalidArgument("index is " + std::to_string(index) + ", expected less than " +
                                 std::to_string(count));
}

/// The kernels of a target that this CPU supports; null or "" is the best one.
Result<KernelTable> KernelsOf(const char* target) {
  const Result<int64_t> found = skipattn::internal::FindTarget(target != nullptr ? target : "");
  if (!found.ok()) return found.status();
  return skipattn::internal::KernelsF32(*found);
}

}  // namespace

const char* skipattn_version(void) { return skipattn::Version(); }

int skipattn_arithmetic_version(void) { return skipattn::ArithmeticVersion(); }

int skipattn_has_feature(const char* name) {
  try {
    return name != nullptr && HasFeature(name) ? 1 : 0;
  } catch (...) {  // no memory
    return 0;
  }
}

skipattn_status skipattn_available_threads(int32_t* threads) {
  return Guard([&]() -> Status {
    if (threads == nullptr) return NullArgument("threads", "where the number goes");
    *threads = skipattn::AvailableThreads();
    return {};
  });
}

skipattn_status skipattn_target_count(size_t* count) {
  return Guard([&]() -> Status {
    if (count == nullptr) return NullArgument("count", "where the number goes");
    *count = skipattn::CompiledTargets().size();
    return {};
  });
}

skipattn_status skipattn_target_get(size_t index, skipattn_target_info* info) {
  return Guard([&]() -> Status {
    const std::vector<TargetInfo> targets = skipattn::CompiledTargets();
    if (index >= targets.size()) return BadIndex(index, targets.size());
    skipattn_target_info full = SKIPATTN_TARGET_INFO_INIT;
    full.name = skipattn::internal::TargetName(skipattn::internal::CompiledTarget(index));
    full.supported = targets[index].supported;
    full.exact = targets[index].exact;
    full.lanes = targets[index].lanes;
    return skipattn::internal::WriteStruct("info", full, info);
  });
}

skipattn_status skipattn_best_target(const char** name) {
  return Guard([&]() -> Status {
    if (name == nullptr) return NullArgument("name", "where the name goes");
    const Result<int64_t> best = skipattn::internal::FindTarget("");
    if (!best.ok()) return best.status();
    *name = skipattn::internal::TargetName(*best);
    return {};
  });
}

skipattn_status skipattn_config_count(const char* target, size_t* count) {
  return Guard([&]() -> Status {
    if (count == nullptr) return NullArgument("count", "where the number goes");
    const Result<KernelTable> table = KernelsOf(target);
    if (!table.ok()) return table.status();
    *count = table->config_count;
    return {};
  });
}

skipattn_status skipattn_config_get(const char* target, size_t index, const char** name) {
  return Guard([&]() -> Status {
    if (name == nullptr) return NullArgument("name", "where the name goes");
    const Result<KernelTable> table = KernelsOf(target);
    if (!table.ok()) return table.status();
    if (index >= table->config_count) return BadIndex(index, table->config_count);
    *name = table->configs[index].name;
    return {};
  });
}
