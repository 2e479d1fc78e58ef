// Entry points: plans are made here, and everything given is checked first.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "plan/check_mask.h"
#include "runtime/float_env.h"
#include "runtime/plan_impl.h"
#include "runtime/target_table.h"
#include "runtime/validate.h"
#include "skipattn/attention.h"

namespace skipattn {
inline namespace v0 {
namespace {

using internal::TileConfig;

Result<const TileConfig*> FindConfig(const internal::KernelTable& table, const std::string& name) {
  std::string names;
  for (size_t c = 0; c < table.config_count; ++c) {
    const TileConfig& config = table.configs[c];
    if (name.empty() || name == config.name) return &config;
    names += (c > 0 ? ", " : "") + std::string(config.name);
  }
  return Status::InvalidArgument("config is \"" + name + "\", expected one of " + names);
}

constexpr double kLog2E = 1.4426950408889634;

/// The contract's c: formed in double and rounded once.
float QueryScale(const Problem& problem, const AttentionOptions& options) {
  const double dim = static_cast<double>(problem.dim);
  const double scale = options.scale.value_or(1.0 / std::sqrt(dim));
  return static_cast<float>(scale * kLog2E);
}

/// The heights of a configuration that fit into a word of lane bits, and their costs.
internal::HeightCosts CostsOf(const internal::KernelTable& table, const TileConfig& config) {
  internal::HeightCosts costs;
  costs.heights =
      std::min(config.shape.score_vectors, internal::kMaxTileRows / static_cast<int>(table.lanes));
  std::copy_n(table.height_costs, costs.heights, costs.cost);
  costs.tile_keys = table.tile_keys;
  for (const internal::FewRows& few : table.few) {
    if (few.most > 0) costs.few.push_back({few.most, few.rows, few.cost});
  }
  return costs;
}

Status Check(const Problem& problem, const Mask& mask, const Bias& bias,
             const AttentionOptions& options) {
  if (Status status = internal::CheckProblem(problem); !status.ok()) return status;
  if (Status status = internal::CheckOptions(problem, options); !status.ok()) return status;
  if (Status status = internal::CheckMask(problem, mask); !status.ok()) return status;
  return internal::CheckBias(problem, bias);
}

Result<Plan> Make(const Problem& given, const Mask& mask, const Bias& bias,
                  const AttentionOptions& options) {
  const Problem problem = internal::WithBias(given, bias);
  if (Status status = Check(problem, mask, bias, options); !status.ok()) return status;
  const Result<int64_t> target = internal::FindTarget(options.target);
  if (!target.ok()) return target.status();
  const internal::KernelTable table = internal::KernelsF32(*target);
  const Result<const TileConfig*> config = FindConfig(table, options.config);
  if (!config.ok()) return config.status();

  auto impl = std::make_shared<Plan::Impl>();
  impl->empty_rows = options.empty_rows;
  impl->threads = options.threads > 0 ? options.threads : AvailableThreads();
  impl->parallel_for = options.parallel_for;
  impl->q_scale = QueryScale(problem, options);
  impl->softcap = static_cast<float>(options.softcap * kLog2E);
  impl->bias = internal::BiasValues(problem, bias);
  if (problem.bias) impl->bias.kind = internal::BiasKind::kDense;
  impl->target = *target;
  impl->lanes = table.lanes;
  impl->config = *config;
  std::copy(std::begin(table.few), std::end(table.few), impl->few);
  impl->fold = table.fold;
  impl->zero = table.zero;

  internal::TileParams params;
  params.vector_lanes = static_cast<int64_t>(table.lanes);
  params.heights = CostsOf(table, **config);
  impl->data = internal::BuildPlan(problem, mask, options, params,
                                   internal::ScanBitsFunction(*target), impl->threads, bias);
  const size_t rows = static_cast<size_t>(params.heights.heights) * table.lanes;
  impl->worker_bytes =
      sizeof(float) * internal::ScratchFloats(rows, table.lanes, static_cast<size_t>(problem.dim),
                                              static_cast<size_t>(problem.v_dim),
                                              impl->bias.kind != internal::BiasKind::kNone);
  impl->shared_bytes = internal::SharedBytes(impl->data);
  if (options.backend == Backend::kReference) {
    Result<Reference> reference = Reference::Make(problem, mask, bias, options);
    if (!reference.ok()) return reference.status();
    impl->reference = *std::move(reference);
  }
  return Plan(std::move(impl));
}

}  // namespace

Result<Plan> MakePlan(const Problem& problem, const Mask& mask, const AttentionOptions& options) {
  return MakePlan(problem, mask, {}, options);
}

Result<Plan> MakePlan(const Problem& problem, const Mask& mask, const Bias& bias,
                      const AttentionOptions& options) {
  // Planning computes a little too, and must neither round nor trap as the host has set.
  const internal::ScopedFloatEnv env;
  try {
    return Make(problem, mask, bias, options);
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "out of memory");  // short: no allocation
  } catch (const internal::MaskFunctionError& error) {
    return Status::InvalidArgument(error.what());
  } catch (const std::exception& error) {
    return Status(StatusCode::kInternal, error.what());
  } catch (...) {  // of a mask function that throws when it is copied
    return Status(StatusCode::kInternal, "an exception of unknown type");
  }
}

ConstTensor internal::ZeroBias() {
  static const float zero = 0.0f;
  return ConstTensor(&zero, {1, 1, 1, 1});
}

ConstTensor internal::BiasOfRun(const Plan::Impl& plan, const Bias& bias) {
  if (KindOf(bias) != BiasKind::kDense || plan.data.bias_adds_nothing) return {};
  return bias::FourAxes(bias.term()->values, bias.term()->axes);
}

RunArgs internal::WithZeroBias(const Plan::Impl& plan, const RunArgs& args) {
  RunArgs all = args;
  if (plan.data.bias_adds_nothing && !args.bias.given()) all.bias = ZeroBias();
  return all;
}

Status Plan::Run(const RunArgs& args) const {
  if (impl_->data.bias_adds_nothing && !args.bias.given()) {
    return Run(internal::WithZeroBias(*impl_, args));
  }
  if (Status status = internal::CheckRun(problem(), args); !status.ok()) return status;
  return internal::RunPlan(*impl_, args);
}

const Problem& Plan::problem() const { return impl_->data.problem; }

size_t Plan::workspace_bytes(int threads) const {
  const size_t workers = static_cast<size_t>(threads > 0 ? threads : impl_->threads);
  return impl_->shared_bytes + impl_->worker_bytes * workers;
}

PlanStats Plan::stats() const {
  PlanStats stats = internal::CountWork(impl_->data);
  stats.needs_bias = problem().bias && !impl_->data.bias_adds_nothing;
  stats.config = impl_->config->name;
  stats.target = impl_->reference ? "reference" : internal::TargetName(impl_->target);
  return stats;
}

Result<Problem> ProblemOf(const RunArgs& args) {
  for (const auto& [name, view] :
       {std::pair<const char*, const ConstTensor*>{"q", &args.q}, {"k", &args.k}, {"v", &args.v}}) {
    if (view->rank != 4) {
      return Status::InvalidArgument(std::string(name) + ": rank is " + std::to_string(view->rank) +
                                     ", expected 4: [batch, heads, length, dim]");
    }
  }
  Problem problem;
  problem.batch = args.q.shape[0];
  problem.heads = args.q.shape[1];
  problem.kv_heads = args.k.shape[1];
  problem.q_len = args.q.shape[2];
  problem.k_len = args.k.shape[2];
  problem.dim = args.q.shape[3];
  problem.v_dim = args.v.shape[3];
  problem.q_dtype = args.q.dtype;
  problem.kv_dtype = args.k.dtype;
  problem.out_dtype = args.out.dtype;
  problem.bias = args.bias.given();
  problem.sinks = args.sinks.given();
  if (Status status = internal::CheckProblem(problem); !status.ok()) return status;
  if (Status status = internal::CheckRun(problem, args); !status.ok()) return status;
  return problem;
}

Status Attention(const RunArgs& args, const Mask& mask, const AttentionOptions& options) {
  return Attention(args, mask, {}, options);
}

Status Attention(const RunArgs& args, const Mask& mask, const Bias& bias,
                 const AttentionOptions& options) {
  if (args.bias.given() && bias.term() != nullptr) {
    return Status::InvalidArgument("bias is given twice, expected it in args or as an argument");
  }
  const Result<Problem> problem = ProblemOf(args);
  if (!problem.ok()) return problem.status();
  const Bias all = problem->bias ? bias::Dense(args.bias) : bias;
  const Result<Plan> plan = MakePlan(*problem, mask, all, options);
  if (!plan.ok()) return plan.status();
  RunArgs run = args;
  run.bias = internal::BiasOfRun(plan->impl(), all);
  return plan->Run(run);
}

}  // namespace v0
}  // namespace skipattn
