// End to end: Plan::Run on the named cases.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "bench/cases.h"
#include "bench/data.h"
#include "bench/micro/micro.h"
#include "bench/verify.h"
#include "skipattn/attention.h"

namespace skipattn::bench {
namespace {

constexpr float kUnwritten = -12345.f;  // no result of these inputs is near it

class AttentionWork : public Work {
 public:
  AttentionWork(const CaseSpec& spec, const MicroTarget& target, int threads)
      : exact_(target.exact), case_(MakeCase(spec)) {
    const Problem& p = spec.problem;
    options_.target = target.name;
    options_.threads = threads;
    inputs_ = RandomInputs(p, Layout::kBhtd, 1);
    out_ = Array(p.batch, p.heads, p.q_len, p.v_dim, Layout::kBhtd);
    out_.Fill(kUnwritten);
    args_ = ArgsOf(inputs_, out_);
    if (case_.ok()) plan_ = MakePlan(p, case_->mask, options_);
  }

  std::string Check() override {
    if (!case_.ok()) return case_.status().message();
    if (!plan_.ok()) return plan_.status().message();
    if (Status status = plan_->Run(args_); !status.ok()) return status.message();
    const Result<Verification> checked = Verify(*case_, options_, args_, kUnwritten);
    if (!checked.ok()) return checked.status().message();
    if (!checked->bound_ok) return "error beyond its bound, first at " + checked->first_wrong;
    if (exact_ && !checked->bits_equal) {
      return "bits differ from the reference, first at " + checked->first_wrong;
    }
    const PlanStats stats = plan_->stats();
    const Problem& p = plan_->problem();
    operations_ = 2.0 * static_cast<double>(stats.live_pairs * (p.dim + p.v_dim));
    label_ = stats.config + " " + HashLabel(HashOf(args_.out));
    return "";
  }

  void Run() override { (void)plan_->Run(args_); }

  void Report(const Loop& loop, benchmark::UserCounters* counters) const override {
    ReportOperations(operations_, loop, counters);
  }

  std::string Label() const override { return label_; }

 private:
  const bool exact_;
  const Result<Case> case_;
  AttentionOptions options_;
  Inputs inputs_;
  Array out_;
  RunArgs args_;
  Result<Plan> plan_ = Status::InvalidArgument("no plan");
  double operations_ = 0;
  std::string label_;
};

struct NamedSpec {
  std::string name;
  CaseSpec spec;
};

// About the same work in each: the share of padding, or the width of a window, is part of the name.
NamedSpec SpecOf(const std::string& name, int64_t argument, int64_t length, int64_t dim) {
  constexpr int64_t kHeads = 4;
  NamedSpec named = {name, {}};
  CaseSpec& spec = named.spec;
  spec.name = name;
  const int64_t batch = length <= 128 ? 8 : length <= 512 ? 2 : 1;
  spec.problem = {batch, kHeads, kHeads, length, length, dim, dim};
  if (name == "window") spec.window = argument;
  if (name == "documents") spec.documents = argument;
  if (name == "padding" || name == "cross") {
    spec.lengths = LengthsAtRatio(batch, length, static_cast<double>(argument) / 100);
  }
  if (name != "causal") named.name += ":" + std::to_string(argument);
  named.name += "/T:" + std::to_string(length) + "/D:" + std::to_string(dim);
  return named;
}

}  // namespace

void RegisterAttention(const MicroTarget& target) {
  const NamedSpec specs[] = {
      SpecOf("padding", 0, 128, 64),   SpecOf("padding", 0, 512, 64),
      SpecOf("padding", 50, 512, 64),  SpecOf("padding", 90, 512, 64),
      SpecOf("causal", 0, 512, 64),    SpecOf("window", 64, 512, 64),
      SpecOf("documents", 4, 512, 64), SpecOf("cross", 50, 512, 64),
      SpecOf("padding", 0, 2048, 128), SpecOf("causal", 0, 2048, 128),
      SpecOf("window", 256, 4096, 64),
  };
  const int all = AvailableThreads();
  for (const NamedSpec& named : specs) {
    for (int threads : {1, all}) {
      const std::string name = "attention/" + named.name + "/" + target.name +
                               (threads > 1 ? "/" + std::to_string(threads) + "_threads" : "");
      RegisterWork(name, target, threads, [spec = named.spec, target, threads] {
        return std::make_unique<AttentionWork>(spec, target, threads);
      });
      if (all == 1) break;
    }
  }
}

}  // namespace skipattn::bench
