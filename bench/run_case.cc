// Plans, measures in one set of rounds, verifies.
#include "bench/run_case.h"

#include <algorithm>
#include <numeric>

#include "runtime/target_table.h"

namespace skipattn::bench {
namespace {

// No result of these inputs is near it, so an element that a run left out shows.
constexpr float kUnwritten = -12345.f;
constexpr double kPeakSeconds = 0.01;

Array OutputOf(const Problem& p, Layout layout) {
  Array out(p.batch, p.heads, p.q_len, p.v_dim, layout);
  out.Fill(kUnwritten);
  return out;
}

bool IsExact(const std::string& target) {
  for (const TargetInfo& info : CompiledTargets()) {
    if (info.name == target) return info.exact;
  }
  return false;
}

// What is timed; the first error of any call ends up in `status`.
struct Rounds {
  const Case& c;
  const AttentionOptions& options;
  const Plan& plan;
  const Plan& dense_plan;
  RunArgs args, dense_args;
  int64_t target;
  std::vector<Floats> attended;  // as much of k and v as is attended; empty: not measured
  std::vector<double> peaks;
  Status status;

  void Keep(Status s) {
    if (status.ok()) status = std::move(s);
  }
  void Measure(const MeasureOptions& measure, Record* record);
};

void Rounds::Measure(const MeasureOptions& measure, Record* record) {
  const std::vector<Timing> timings = MeasureInterleaved(
      {
          [this] { Keep(plan.Run(args)); },
          [this] { Keep(dense_plan.Run(dense_args)); },
          [this] { Keep(MakePlan(c.spec.problem, c.mask, c.bias, options).status()); },
          [this] { peaks.push_back(FmaPeakOfThreads(target, options.threads, kPeakSeconds)); },
          [this] { ReadOnThreads(target, options.threads, attended); },
      },
      measure);
  record->run = timings[0];
  record->dense = timings[1];
  record->plan_ms = timings[2].median_ms;
  record->peak_gflops = Median(peaks);
  if (!attended.empty()) record->read = timings[4];
}

// From the beginning of both arrays, which are as large at least.
std::vector<Floats> AttendedFloats(const CaseSpec& spec, const Inputs& inputs) {
  const Problem& p = spec.problem;
  int64_t tokens = p.batch * p.k_len;
  if (!spec.lengths.empty())
    tokens = std::accumulate(spec.lengths.begin(), spec.lengths.end(), int64_t{0});
  const size_t rows = static_cast<size_t>(tokens * p.kv_heads);
  return {{inputs.k.memory.get(), rows * static_cast<size_t>(p.dim)},
          {inputs.v.memory.get(), rows * static_cast<size_t>(p.v_dim)}};
}

}  // namespace

double Record::LiveShare() const {
  const double pairs = static_cast<double>(stats.dense_pairs);
  return pairs > 0 ? static_cast<double>(stats.live_pairs) / pairs : 0;
}

double Record::Speedup() const { return run.median_ms > 0 ? dense.median_ms / run.median_ms : 0; }

double Record::IdealSpeedup() const { return LiveShare() > 0 ? 1 / LiveShare() : 0; }

double Record::OverIdeal() const {
  const double ideal_ms = dense.median_ms * LiveShare();
  return ideal_ms > 0 ? run.median_ms / ideal_ms : 0;
}

double Record::OverIdealWithPlan() const {
  return run.median_ms > 0 ? OverIdeal() * (run.median_ms + plan_ms) / run.median_ms : 0;
}

double Record::LiveGflops() const {
  const double operations = 2.0 * static_cast<double>(stats.live_pairs * width);
  return run.median_ms > 0 ? operations / run.median_ms * 1e-6 : 0;
}

double Record::Gbytes() const {
  return run.median_ms > 0 ? static_cast<double>(bytes) / run.median_ms * 1e-6 : 0;
}

double Record::ReadGbytes() const {
  return read.median_ms > 0 ? static_cast<double>(bytes) / read.median_ms * 1e-6 : 0;
}

double Record::ReadShare() const { return run.median_ms > 0 ? read.median_ms / run.median_ms : 0; }

double Record::PeakShare() const { return peak_gflops > 0 ? LiveGflops() / peak_gflops : 0; }

bool Record::Right() const { return checked.bound_ok && (checked.bits_equal || !exact_target); }

Result<Record> RunCase(const Case& c, const Inputs& inputs, Layout layout,
                       const AttentionOptions& dense_options, const MeasureOptions& measure) {
  const Problem& problem = c.spec.problem;
  AttentionOptions options = dense_options;
  options.softcap = c.softcap;
  const Result<Plan> plan = MakePlan(problem, c.mask, c.bias, options);
  if (!plan.ok()) return plan.status();
  Problem dense_problem = problem;
  dense_problem.sinks = false;
  const Result<Plan> dense_plan = MakePlan(dense_problem, Mask(), dense_options);
  if (!dense_plan.ok()) return dense_plan.status();
  const Result<int64_t> target = internal::FindTarget(plan->stats().target);
  if (!target.ok()) return target.status();

  const Array out = OutputOf(problem, layout);
  const Array dense_out = OutputOf(problem, layout);
  RunArgs args = ArgsOf(inputs, out);
  args.bias = c.run_bias;
  if (problem.sinks) args.sinks = ConstTensor(c.sinks);
  Record record;
  record.stats = plan->stats();
  record.threads = options.threads;
  record.width = problem.dim + problem.v_dim;
  record.exact_target = IsExact(record.stats.target);
  Rounds rounds{c,       options, *plan, *dense_plan, args, ArgsOf(inputs, dense_out),
                *target, {},      {},    {}};
  if (c.spec.name == "decode") {
    rounds.attended = AttendedFloats(c.spec, inputs);
    for (const Floats& one : rounds.attended) {
      record.bytes += static_cast<int64_t>(one.count * sizeof(float));
    }
  }
  rounds.Measure(measure, &record);
  if (!rounds.status.ok()) return rounds.status;

  const Result<Verification> checked = Verify(c, options, args, kUnwritten);
  if (!checked.ok()) return checked.status();
  record.checked = *checked;
  record.hash = HashOf(args.out);
  return record;
}

}  // namespace skipattn::bench
