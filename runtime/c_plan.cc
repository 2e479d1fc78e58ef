// Plans and runs of the C interface.
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "runtime/c_convert.h"
#include "runtime/c_error.h"
#include "runtime/c_struct.h"
#include "runtime/plan_impl.h"
#include "runtime/target_table.h"
#include "runtime/validate.h"

using skipattn::Bias;
using skipattn::Plan;
using skipattn::Problem;
using skipattn::Result;
using skipattn::RunArgs;
using skipattn::Status;
using skipattn::StatusCode;
using skipattn::internal::Allocator;
using skipattn::internal::Guard;
using skipattn::internal::NullArgument;

struct skipattn_plan {
  skipattn_plan(Plan made, const Allocator& given) : plan(std::move(made)), allocator(given) {}

  const Plan plan;
  const Allocator allocator;
  mutable std::mutex mutex;
  mutable std::string text;  // made when it is first asked for
};

namespace {

/// Memory of a caller's allocator, until the end of the scope.
class Scratch {
 public:
  Scratch(const Allocator& allocator, size_t bytes)
      : allocator_(allocator),
        bytes_(bytes),
        data_(allocator.allocate(allocator.context, bytes, kAlignment)) {}
  ~Scratch() {
    if (data_ != nullptr) allocator_.deallocate(allocator_.context, data_, bytes_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  Status Check() const {
    if (data_ == nullptr) {
      return Status(StatusCode::kOutOfMemory,
                    "out of memory: allocate gave none for " + std::to_string(bytes_) + " bytes");
    }
    const uintptr_t beyond = reinterpret_cast<uintptr_t>(data_) % kAlignment;
    if (beyond == 0) return {};
    return Status::InvalidArgument("allocate gave an address " + std::to_string(beyond) +
                                   " bytes beyond a multiple of 64, expected a multiple of 64");
  }
  void* data() const { return data_; }

 private:
  static constexpr size_t kAlignment = 64;
  const Allocator& allocator_;
  const size_t bytes_;
  void* const data_;
};

Status Run(const Plan& plan, const Allocator& allocator, const RunArgs& given) {
  if (allocator.allocate == nullptr || given.workspace != nullptr) return plan.Run(given);
  RunArgs args = skipattn::internal::WithZeroBias(plan.impl(), given);
  Status status = skipattn::internal::CheckRun(plan.problem(), args);
  if (!status.ok()) return status;
  args.workspace_bytes = plan.workspace_bytes(args.threads);
  const Scratch scratch(allocator, args.workspace_bytes);
  if (status = scratch.Check(); !status.ok()) return status;
  args.workspace = scratch.data();
  return skipattn::internal::RunPlan(plan.impl(), args);
}

/// The options of C, as C++ has them.
struct Options {
  skipattn::AttentionOptions options;
  Bias bias;
  Allocator allocator;
};

Status Read(const skipattn_mask* mask, const skipattn_options* given, Options* read) {
  if (mask == nullptr) {
    return NullArgument("mask", "a mask; skipattn_mask_everything makes one that allows all");
  }
  return skipattn::internal::ReadOptions(given, &read->options, &read->bias, &read->allocator);
}

Status NoPlan() { return NullArgument("plan", "a plan"); }

}  // namespace

skipattn_status skipattn_attention(const skipattn_run_args* args, const skipattn_mask* mask,
                                   const skipattn_options* options) {
  return Guard([&]() -> Status {
    RunArgs run;
    if (Status status = skipattn::internal::ReadRunArgs(args, &run); !status.ok()) return status;
    const Result<Problem> problem = skipattn::ProblemOf(run);
    if (!problem.ok()) return problem.status();
    Options with;
    if (Status status = Read(mask, options, &with); !status.ok()) return status;
    if (run.bias.given()) {
      if (with.bias.term() != nullptr) {
        return Status::InvalidArgument("bias is given twice, expected it in args or in options");
      }
      with.bias = skipattn::bias::Dense(run.bias);
    }
    const Result<Plan> plan = MakePlan(*problem, mask->mask, with.bias, with.options);
    if (!plan.ok()) return plan.status();
    run.bias = skipattn::internal::BiasOfRun(plan->impl(), with.bias);
    return Run(*plan, with.allocator, run);
  });
}

skipattn_status skipattn_plan_create(const skipattn_problem* problem, const skipattn_mask* mask,
                                     const skipattn_options* options, skipattn_plan** plan) {
  if (plan != nullptr) *plan = nullptr;
  return Guard([&]() -> Status {
    if (plan == nullptr) return NullArgument("plan", "where the new plan goes");
    Problem sizes;
    Status status = skipattn::internal::ReadProblem(problem, &sizes);
    if (!status.ok()) return status;
    Options with;
    if (status = Read(mask, options, &with); !status.ok()) return status;
    Result<Plan> made = MakePlan(sizes, mask->mask, with.bias, with.options);
    if (!made.ok()) return made.status();
    *plan = std::make_unique<skipattn_plan>(*std::move(made), with.allocator).release();
    return {};
  });
}

void skipattn_plan_free(skipattn_plan* plan) { delete plan; }

skipattn_status skipattn_plan_run(const skipattn_plan* plan, const skipattn_run_args* args) {
  return Guard([&]() -> Status {
    if (plan == nullptr) return NoPlan();
    RunArgs run;
    if (Status status = skipattn::internal::ReadRunArgs(args, &run); !status.ok()) return status;
    return Run(plan->plan, plan->allocator, run);
  });
}

skipattn_status skipattn_plan_workspace_bytes(const skipattn_plan* plan, int32_t threads,
                                              size_t* bytes) {
  return Guard([&]() -> Status {
    if (plan == nullptr) return NoPlan();
    if (bytes == nullptr) return NullArgument("bytes", "where the number goes");
    if (threads < 0) {
      return Status::InvalidArgument("threads is " + std::to_string(threads) +
                                     ", expected 0 (the plan's) or more");
    }
    *bytes = plan->plan.workspace_bytes(threads);
    return {};
  });
}

skipattn_status skipattn_plan_get_stats(const skipattn_plan* plan, skipattn_stats* stats) {
  return Guard([&]() -> Status {
    if (plan == nullptr) return NoPlan();
    const skipattn::PlanStats counted = plan->plan.stats();
    const Plan::Impl& impl = plan->plan.impl();
    skipattn_stats full = SKIPATTN_STATS_INIT;
    full.live_pairs = counted.live_pairs;
    full.dense_pairs = counted.dense_pairs;
    full.empty_rows = counted.empty_rows;
    full.tiles = counted.tiles;
    full.skipped_blocks = counted.skipped_blocks;
    full.full_blocks = counted.full_blocks;
    full.partial_blocks = counted.partial_blocks;
    full.needs_bias = counted.needs_bias;
    // The names' own places, not the strings of `counted`.
    full.config = impl.config->name;
    full.target = impl.reference ? "reference" : skipattn::internal::TargetName(impl.target);
    return skipattn::internal::WriteStruct("stats", full, stats);
  });
}

skipattn_status skipattn_plan_describe(const skipattn_plan* plan, const char** text) {
  return Guard([&]() -> Status {
    if (plan == nullptr) return NoPlan();
    if (text == nullptr) return NullArgument("text", "where the text goes");
    const std::lock_guard<std::mutex> lock(plan->mutex);
    if (plan->text.empty()) plan->text = plan->plan.Describe();
    *text = plan->text.c_str();
    return {};
  });
}
