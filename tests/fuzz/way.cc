// Draws and takes a way; see way.h.
#include "tests/fuzz/way.h"

#include <cfenv>
#include <cmath>
#include <memory>
#include <new>
#include <thread>

namespace skipattn::test {
namespace {

/// Every worker on a thread of its own, all at once.
void RunOnThreads(void*, int workers, ParallelFor::Work work, void* argument) {
  std::vector<std::thread> threads;
  for (int w = 0; w < workers; ++w) threads.emplace_back(work, argument, w);
  for (std::thread& thread : threads) thread.join();
}

void RunBackwards(void*, int workers, ParallelFor::Work work, void* argument) {
  for (int w = workers; w-- > 0;) work(argument, w);
}

/// As a pool whose calling thread takes up other work of the program before, between and after the
/// parts of this: `context` is a function that runs another plan.
void RunWithOtherWork(void* context, int workers, ParallelFor::Work work, void* argument) {
  const auto& run_other = *static_cast<std::function<void()>*>(context);
  run_other();
  for (int w = 0; w < workers; ++w) {
    work(argument, w);
    run_other();
  }
}

/// Memory of exactly so many bytes, so that the address sanitizer sees who goes beyond.
class Workspace {
 public:
  explicit Workspace(size_t bytes) : bytes_(bytes), memory_(::operator new(bytes, kAlignment)) {}
  ~Workspace() { ::operator delete(memory_, kAlignment); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void LendTo(RunArgs& args) const {
    args.workspace = memory_;
    args.workspace_bytes = bytes_;
  }

 private:
  static constexpr std::align_val_t kAlignment{64};
  size_t bytes_;
  void* memory_;
};

/// Results of a target without fma: within the bound of the exact ones, around float64.
std::string CheckBounds(FuzzCase& one, const Reference& reference, Outputs& got) {
  const RunArgs args = one.Args(got);
  const Problem& p = one.problem;
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        const Result<Float64Row> want = reference.Row64(args, b, h, i);
        if (!want.ok()) return want.status().message();
        const float lse = *RowOf(args.lse, b, h, i);
        const bool empty = std::isinf(want->lse);
        if (empty ? lse != -INFINITY : !(std::fabs(lse - want->lse) <= 2 * want->lse_bound)) {
          return "lse is " + std::to_string(lse) + ", expected " + std::to_string(want->lse);
        }
        if (empty && one.options.empty_rows != EmptyRows::kZero) continue;
        for (int64_t d = 0; d < p.v_dim; ++d) {
          const float out = RowOf(args.out, b, h, i)[d];
          const double exact = want->out[static_cast<size_t>(d)];
          if (std::fabs(out - exact) <= 2 * want->out_bound) continue;
          return "out is " + std::to_string(out) + ", expected " + std::to_string(exact);
        }
      }
    }
  }
  return "";
}

}  // namespace

Way::Way(Rng& rng) {
  static const std::vector<TargetConfig> all = AllConfigs();
  target_ = all[rng.Below(all.size())];
  reference_backend_ = OneIn(rng, 40);
  form_ = static_cast<Form>(PickOf(rng, {0, 0, 0, 0, 0, 0, 1, 2, 3}));
  own_workspace_ = OneIn(rng, 3);
  with_lse_ = !OneIn(rng, 6);
  one_shot_ = OneIn(rng, 6);
  skipping_ = OneIn(rng, 4) ? Skipping::kOff : Skipping::kOn;
  whose_threads_ = static_cast<Threads>(rng.Below(4));
  plan_threads_ = static_cast<int>(Uniform(rng, 1, 3));
  run_threads_ = OneIn(rng, 3) ? static_cast<int>(Uniform(rng, 1, 3)) : 0;
  rounding_ = static_cast<int>(PickOf(
      rng, {FE_TONEAREST, FE_TONEAREST, FE_TONEAREST, FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}));
}

std::string Way::Text() const {
  const char* whose[] = {"OpenMP", "std", "no", "nested"};
  const char* form[] = {"", " as a dense mask", " as blocks", " as a function"};
  return target_.target + " " + target_.config +
         (skipping_ == Skipping::kOff ? " no skipping" : "") +
         (reference_backend_ ? " reference" : "") + std::string(form[static_cast<int>(form_)]) +
         (own_workspace_ ? " workspace" : "") + (with_lse_ ? "" : " no lse") +
         (one_shot_ ? " one shot" : "") + " " + whose[static_cast<int>(whose_threads_)] +
         " threads " + std::to_string(plan_threads_) + " " + std::to_string(run_threads_) +
         (rounding_ == FE_TONEAREST ? "" : ", another rounding mode");
}

AttentionOptions Way::Options(const FuzzCase& one) const {
  AttentionOptions options = one.options;
  options.target = target_.target;
  options.config = target_.config;
  options.skipping = skipping_;
  options.threads = plan_threads_;
  if (reference_backend_) options.backend = Backend::kReference;
  if (whose_threads_ == Threads::kStdThreads) options.parallel_for.run = &RunOnThreads;
  if (whose_threads_ == Threads::kOneAfterTheOther) options.parallel_for.run = &RunBackwards;
  if (whose_threads_ == Threads::kNestedRun) options.parallel_for.run = &RunWithOtherWork;
  return options;
}

/// Another form has the origin of the terms only where the origin is given.
Mask Way::MaskOf(const FuzzCase& one, std::vector<uint8_t>& pairs) const {
  if (form_ == Form::kTerms || one.options.key_origin.empty()) return one.mask.mask;
  if (form_ == Form::kFunction) {
    return mask::Function([&mask = one.mask](int64_t b, int64_t h, int64_t i, int64_t j) {
      return mask.Allows(b, h, i, j);
    });
  }
  const ConstTensor values = one.Pairs(pairs);
  return form_ == Form::kBlocks ? mask::Blocks(values, "", 1, 1) : mask::Dense(values);
}

std::string Way::Check(FuzzCase& one, const Reference& reference, const Outputs& want) const {
  AttentionOptions options = Options(one);
  std::vector<uint8_t> pairs;
  const Mask mask = MaskOf(one, pairs);

  Outputs other_outputs = one.data.EmptyOutputs();
  AttentionOptions other_options = options;
  other_options.parallel_for = {&RunBackwards, nullptr};
  std::function<void()> run_other = [&] {
    static_cast<void>(Attention(one.Args(other_outputs), Mask(), other_options).ok());
  };
  options.parallel_for.context = &run_other;

  if (std::fesetround(rounding_) != 0) return "no such rounding mode";
  const Result<Plan> plan = MakePlan(one.problem, mask, one.bias.bias, options);
  std::fesetround(FE_TONEAREST);
  if (!plan.ok()) return plan.status().message();
  if (std::string wrong = CheckStats(one, *plan); !wrong.empty()) return wrong;

  Outputs got = one.data.EmptyOutputs();
  const auto run = [&](const RunArgs& args) {
    if (!one_shot_) return plan->Run(args);
    RunArgs all = args;
    all.bias = ConstTensor();
    return Attention(all, mask, one.bias.bias, options);
  };
  if (!one_shot_) pairs.assign(pairs.size(), 2);  // a plan borrows nothing
  const Status status = Run(one, plan->workspace_bytes(run_threads_), run, got);
  if (!status.ok()) return status.message();
  if (!with_lse_) {
    const auto same = SameBits(got.lse, one.data.EmptyOutputs().lse);
    if (!same) return std::string("written though not given: ") + same.message();
    got.lse = want.lse;
  }
  if (target_.exact || reference_backend_) {
    const auto same = SameBits(got, want);
    return same ? "" : same.message();
  }
  return one.tame ? CheckBounds(one, reference, got) : "";
}

Status Way::Run(FuzzCase& one, size_t workspace_bytes,
                const std::function<Status(const RunArgs&)>& run, Outputs& outputs) const {
  RunArgs args = one.Args(outputs);
  args.threads = run_threads_;
  if (!with_lse_) args.lse = Tensor();
  std::unique_ptr<Workspace> workspace;
  if (own_workspace_ && workspace_bytes > 0) {
    workspace = std::make_unique<Workspace>(workspace_bytes);
    workspace->LendTo(args);
  }
  // What nobody attends is not even read. (Without skipping, and by other work, it is.)
  using Readable = LiveRows::Guard::Readable;
  const bool all = skipping_ == Skipping::kOff || whose_threads_ == Threads::kNestedRun;
  const bool all_q = whose_threads_ == Threads::kNestedRun;
  const LiveRows::Guard q(one.live_q, all_q ? Readable::kAllRows : Readable::kLiveRows);
  const LiveRows::Guard k(one.live_k, all ? Readable::kAllRows : Readable::kLiveRows);
  const LiveRows::Guard v(one.live_v, all ? Readable::kAllRows : Readable::kLiveRows);
  std::fesetround(rounding_);
  const Status status = run(args);
  const bool kept = std::fegetround() == rounding_;
  std::fesetround(FE_TONEAREST);
  if (!kept) return Status(StatusCode::kInternal, "the rounding mode has changed");
  return status;
}

std::string Way::CheckStats(const FuzzCase& one, const Plan& plan) const {
  const PlanStats stats = plan.stats();
  const Problem& p = one.problem;
  const auto differ = [](const char* name, int64_t is, int64_t expected) {
    return std::string("stats: ") + name + " is " + std::to_string(is) + ", expected " +
           std::to_string(expected);
  };
  const int64_t dense = p.batch * p.heads * p.q_len * p.k_len;
  if (stats.dense_pairs != dense) return differ("dense_pairs", stats.dense_pairs, dense);
  const bool counted = one.bias.tame();  // others may mask
  if (counted && stats.live_pairs != one.live_pairs) {
    return differ("live_pairs", stats.live_pairs, one.live_pairs);
  }
  if (counted && stats.empty_rows != one.empty_rows) {
    return differ("empty_rows", stats.empty_rows, one.empty_rows);
  }
  if (one.live_pairs == 0 && stats.tiles != 0) return differ("tiles", stats.tiles, 0);
  const std::string target = reference_backend_ ? "reference" : target_.target;
  if (stats.target != target) return "stats: target is " + stats.target + ", expected " + target;
  if (stats.config != target_.config) {
    return "stats: config is " + stats.config + ", expected " + target_.config;
  }
  return plan.Describe().empty() ? "no description" : "";
}

}  // namespace skipattn::test
