// Table, JSON lines and progress of `skipattn bench`.
#include "cli/bench_output.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli/machine.h"

namespace skipattn::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBarWidth = 24;

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof(text), "%016" PRIx64, value);
  return text;
}

std::string Scientific(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.1e", value);
  return text;
}

std::string Percent(double share) { return Fixed(100 * share, 1) + "%"; }

const char* FormName(bench::MaskForm form) {
  switch (form) {
    case bench::MaskForm::kDense:
      return "dense";
    case bench::MaskForm::kBias:
      return "bias";
    default:
      return "terms";
  }
}

Json JsonOf(const BenchLine& line) {
  const bench::Record& r = line.record;
  const Problem& p = line.c.spec.problem;
  Json json;
  json["case"] = line.c.spec.name;
  if (!line.c.spec.term.empty()) json["term"] = line.c.spec.term;
  json["form"] = FormName(line.c.spec.form);
  json["causal"] = line.c.spec.causal;
  json["ratio"] = line.ratio;
  json["live_share"] = r.LiveShare();
  json["ms"] = r.run.median_ms;
  json["min_ms"] = r.run.min_ms;
  json["dense_ms"] = r.dense.median_ms;
  json["speedup"] = r.Speedup();
  json["ideal_speedup"] = r.IdealSpeedup();
  json["over_ideal"] = r.OverIdeal();
  json["over_ideal_with_plan"] = r.OverIdealWithPlan();
  json["live_gflops"] = r.LiveGflops();
  json["peak_gflops"] = r.peak_gflops;
  json["peak_share"] = r.PeakShare();
  if (r.bytes > 0) {
    json["gbytes_per_s"] = r.Gbytes();
    json["read_gbytes_per_s"] = r.ReadGbytes();
    json["read_share"] = r.ReadShare();
  }
  json["threads"] = r.threads;
  json["target"] = r.stats.target;
  json["config"] = r.stats.config;
  json["plan_ms"] = r.plan_ms;
  json["max_abs_err"] = r.checked.max_abs_err;
  json["err_bound_ok"] = r.checked.bound_ok;
  json["bits_equal"] = r.checked.bits_equal;
  json["rows_checked"] = r.checked.rows;
  json["hash"] = Hex(r.hash);
  json["batch"] = p.batch;
  json["heads"] = p.heads;
  json["kv_heads"] = p.kv_heads;
  json["seq"] = p.q_len;
  json["kv_seq"] = p.k_len;
  json["dim"] = p.dim;
  json["v_dim"] = p.v_dim;
  json["layout"] = line.layout;
  json["empty_rows"] = line.empty_rows;
  json["seed"] = line.seed;
  json["cpu"] = CpuModel();
  json["compiler"] = Compiler();
  json["version"] = Version();
  return json;
}

std::string HeaderOf(const BenchLine& line) {
  const Problem& p = line.c.spec.problem;
  const bench::Record& r = line.record;
  return line.c.spec.name + ": " + line.c.description + "\n" + CpuModel() + ", " + r.stats.target +
         " " + r.stats.config + ", " + Compiler() + ", " + std::to_string(r.threads) +
         (r.threads == 1 ? " thread" : " threads") + "\nbatch " + std::to_string(p.batch) +
         ", q/kv heads " + std::to_string(p.heads) + "/" + std::to_string(p.kv_heads) + ", " +
         std::to_string(p.q_len) + " x " + std::to_string(p.k_len) + ", dim " +
         std::to_string(p.dim) + "/" + std::to_string(p.v_dim) + ", f32 " + line.layout +
         ", empty rows " + line.empty_rows +
         (line.c.spec.form == bench::MaskForm::kTerms
              ? ""
              : std::string(", mask as ") + FormName(line.c.spec.form)) +
         "\n\n";
}

const std::vector<std::string> kTitles = {
    "padding", "live",       "ms",        "dense",   "<ms / dense, ┃ ideal",
    "faster",  "over ideal", "with plan", "GFLOP/s", "of peak",
    "plan ms", "max err",    "bits"};

// Of "decode", which is about memory.
const std::vector<std::string> kReadTitles = {"padding",  "ms",     "plan ms", "GB/s",
                                              "sum GB/s", "of sum", "GFLOP/s", "of peak",
                                              "max err",  "bits"};

std::vector<std::string> ReadRowOf(const BenchLine& line) {
  const bench::Record& r = line.record;
  return {Percent(line.ratio),
          Fixed(r.run.median_ms, 4),
          Fixed(r.plan_ms, 4),
          Fixed(r.Gbytes(), 1),
          Fixed(r.ReadGbytes(), 1),
          Percent(r.ReadShare()),
          Fixed(r.LiveGflops(), 1),
          Percent(r.PeakShare()),
          Scientific(r.checked.max_abs_err),
          r.checked.bits_equal ? "equal" : "differ"};
}

// Of "terms", where dense is the same without the term.
const std::vector<std::string> kTermTitles = {"<term",   "ms",      "without", "cost",
                                              "GFLOP/s", "of peak", "max err", "bits"};

std::vector<std::string> TermRowOf(const BenchLine& line) {
  const bench::Record& r = line.record;
  return {line.c.spec.term,
          Fixed(r.run.median_ms, 3),
          Fixed(r.dense.median_ms, 3),
          Percent(r.OverIdeal() - 1),
          Fixed(r.LiveGflops(), 1),
          Percent(r.PeakShare()),
          Scientific(r.checked.max_abs_err),
          r.checked.bits_equal ? "equal" : "differ"};
}

std::vector<std::string> RowOf(const BenchLine& line) {
  const bench::Record& r = line.record;
  const double share_of_dense = r.Speedup() > 0 ? 1 / r.Speedup() : 0;
  return {Percent(line.ratio),
          Percent(r.LiveShare()),
          Fixed(r.run.median_ms, 3),
          Fixed(r.dense.median_ms, 3),
          Bar(share_of_dense, r.LiveShare(), kBarWidth),
          Fixed(r.Speedup(), 2) + "x",
          Fixed(r.OverIdeal(), 2) + "x",
          Fixed(r.OverIdealWithPlan(), 2) + "x",
          Fixed(r.LiveGflops(), 1),
          Percent(r.PeakShare()),
          Fixed(r.plan_ms, 3),
          Scientific(r.checked.max_abs_err),
          r.checked.bits_equal ? "equal" : "differ"};
}

}  // namespace

BenchOutput::BenchOutput(bool json, size_t lines)
    : json_(json), progress_(isatty(STDERR_FILENO) != 0), lines_(lines) {}

void BenchOutput::Begin(const bench::Case& c, double ratio) {
  ++begun_;
  if (!progress_) return;
  ClearProgress();
  std::cerr << "[" << begun_ << "/" << lines_ << "] " << c.spec.name << ", padding "
            << Percent(ratio) << std::flush;
}

void BenchOutput::Add(const BenchLine& line) {
  ClearProgress();
  if (json_) {
    std::cout << JsonOf(line).dump() << std::endl;
  } else {
    const bool read = line.record.bytes > 0;
    const bool term = !line.c.spec.term.empty();
    if (header_.empty()) {
      header_ = HeaderOf(line);
      table_ = Table(read ? kReadTitles : term ? kTermTitles : kTitles);
    }
    table_.Add(read ? ReadRowOf(line) : term ? TermRowOf(line) : RowOf(line));
  }
  const bench::Verification& checked = line.record.checked;
  if (!line.record.Right()) {
    wrong_ += "skipattn: bench " + line.c.spec.name + ", padding " + Percent(line.ratio) + ": " +
              (checked.bound_ok ? "bits differ from the reference" : "error beyond its bound") +
              ", first at " + checked.first_wrong + "\n";
  }
}

bool BenchOutput::End() {
  ClearProgress();
  if (!json_) std::cout << header_ << table_.ToString() << std::flush;
  std::cerr << wrong_;
  return wrong_.empty();
}

void BenchOutput::ClearProgress() const {
  if (progress_) std::cerr << "\r\033[K";
}

}  // namespace skipattn::cli
