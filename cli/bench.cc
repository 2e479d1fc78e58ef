// skipattn bench: a case's time beside its own dense time, the fma peak or a plain sum of k and v,
// and its result checked.
#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "bench/run_case.h"
#include "bench/text.h"
#include "cli/bench_output.h"
#include "cli/commands.h"
#include "cli/flags.h"

namespace skipattn::cli {
namespace {

using bench::Case;
using bench::CaseSpec;
using bench::Inputs;
using bench::Layout;

struct BenchFlags {
  SizeFlags sizes{8, 12, 512, 64};
  RunFlags run;
  CaseSpec spec;
  std::vector<double> ratios;
  std::string text, lengths;
  std::string empty_rows = "zero", layout = "bhtd", form = "terms";
  bench::MeasureOptions measure;
  uint64_t seed = 1;
  bool json = false;
};

Layout LayoutOf(const BenchFlags& flags) {
  return flags.layout == "bthd" ? Layout::kBthd : Layout::kBhtd;
}

// The inputs of all lines, and what differs between them.
struct Work {
  Problem problem;
  Inputs inputs;
  struct Line {
    double ratio = 0;
    std::vector<int64_t> lengths;  // of the sequences; empty = no padding
    std::string term;              // "terms": which
  };
  std::vector<Line> lines;
};

// Sequences of the given lengths, cut to --seq where that is given, as one line.
Work::Line LineOf(const CLI::App& command, const BenchFlags& flags, const std::string& flag,
                  std::vector<int64_t> lengths, Problem* problem) {
  if (lengths.empty()) throw CLI::ValidationError(flag, "the file has no sequence");
  int64_t longest = *std::max_element(lengths.begin(), lengths.end());
  if (command.count("--seq") > 0) longest = std::min(longest, flags.sizes.seq);
  for (int64_t& length : lengths) length = std::min(length, longest);
  problem->batch = static_cast<int64_t>(lengths.size());
  problem->q_len = problem->k_len = longest;
  const double sum = std::accumulate(lengths.begin(), lengths.end(), 0.0);
  const double ratio = 1 - sum / static_cast<double>(problem->batch * longest);
  return {ratio, std::move(lengths), {}};
}

std::string FileOf(const std::string& flag, const std::string& path) {
  Result<std::string> text = bench::ReadFile(path);
  if (!text.ok()) throw CLI::ValidationError(flag, text.status().message());
  return std::move(text).value();
}

Work WorkOfText(const CLI::App& command, const BenchFlags& flags) {
  Work work;
  work.problem = flags.sizes.ToProblem();
  const std::vector<bench::Tokens> sequences =
      bench::TokenizeParagraphs(FileOf("--text", flags.text));
  std::vector<int64_t> lengths;
  for (const bench::Tokens& tokens : sequences) {
    lengths.push_back(static_cast<int64_t>(tokens.size()));
  }
  work.lines = {LineOf(command, flags, "--text", std::move(lengths), &work.problem)};
  work.inputs = bench::TextInputs(work.problem, sequences, LayoutOf(flags), flags.seed);
  return work;
}

Work WorkOfLengths(const CLI::App& command, const BenchFlags& flags) {
  Work work;
  work.problem = flags.sizes.ToProblem();
  Result<std::vector<int64_t>> lengths = bench::ParseLengths(FileOf("--lengths", flags.lengths));
  if (!lengths.ok()) throw CLI::ValidationError("--lengths", lengths.status().message());
  work.lines = {LineOf(command, flags, "--lengths", std::move(lengths).value(), &work.problem)};
  work.inputs = bench::RandomInputs(work.problem, LayoutOf(flags), flags.seed);
  return work;
}

Work WorkOfRatios(const BenchFlags& flags) {
  Work work;
  work.problem = flags.sizes.ToProblem();
  std::vector<double> ratios = flags.ratios;
  work.inputs = bench::RandomInputs(work.problem, LayoutOf(flags), flags.seed);
  if (flags.spec.name == "terms") {
    for (const std::string& term : bench::TermNames()) work.lines.push_back({0, {}, term});
    return work;
  }
  const bool sweep = flags.spec.name == "padding" || flags.spec.name == "cross";
  if (ratios.empty()) ratios = sweep ? std::vector<double>{0, .25, .5, .75, .9} : std::vector{0.};
  for (double ratio : ratios) {
    work.lines.push_back({ratio, {}, {}});
    if (ratio > 0) {
      work.lines.back().lengths =
          bench::LengthsAtRatio(work.problem.batch, work.problem.k_len, ratio);
    }
  }
  return work;
}

// Flags that mean nothing in a case are mistakes, not to be passed over.
void CheckFlags(const CLI::App& command, const std::string& name) {
  static const std::pair<const char*, const char*> kOnlyFor[] = {{"--text", "padding"},
                                                                 {"--lengths", "padding"},
                                                                 {"--window", "window"},
                                                                 {"--docs", "documents"}};
  if (command.count("--causal") > 0 && name != "padding" && name != "documents") {
    throw CLI::ValidationError("--causal", "is for the cases padding and documents, not " + name);
  }
  if (name == "terms" && (command.count("--form") > 0 || command.count("--ratios") > 0)) {
    throw CLI::ValidationError(command.count("--form") > 0 ? "--form" : "--ratios",
                               "is for cases with a mask, not terms");
  }
  if (command.count("--kv-seq") > 0 && name != "cross" && name != "decode") {
    throw CLI::ValidationError("--kv-seq", "is for the cases cross and decode, not " + name);
  }
  for (const auto& [flag, only] : kOnlyFor) {
    if (command.count(flag) > 0 && name != only) {
      throw CLI::ValidationError(flag, std::string("is for the case ") + only + ", not " + name);
    }
  }
}

// What "decode" means where nothing else is asked for.
void SetDecodeSizes(const CLI::App& command, SizeFlags* sizes) {
  const std::pair<const char*, std::pair<int64_t*, int64_t>> defaults[] = {
      {"--batch", {&sizes->batch, 1}},
      {"--heads", {&sizes->heads, 32}},
      {"--seq", {&sizes->seq, 1}},
      {"--kv-seq", {&sizes->kv_seq, 32768}},
      {"--dim", {&sizes->dim, 128}}};
  for (const auto& [flag, value] : defaults) {
    if (command.count(flag) == 0) *value.first = value.second;
  }
  if (command.count("--kv-heads") == 0 && command.count("--heads") == 0) sizes->kv_heads = 8;
}

void Bench(const CLI::App& command, BenchFlags flags) {
  CheckFlags(command, flags.spec.name);
  if (flags.spec.name == "decode") SetDecodeSizes(command, &flags.sizes);
  AttentionOptions options = flags.run.ToOptions();
  options.empty_rows = flags.empty_rows == "keep" ? EmptyRows::kKeep : EmptyRows::kZero;
  // Wrong sizes and names are found before memory is filled with numbers for them.
  Check(command, MakePlan(flags.sizes.ToProblem(), Mask(), options).status());
  const Work work = !flags.text.empty()      ? WorkOfText(command, flags)
                    : !flags.lengths.empty() ? WorkOfLengths(command, flags)
                                             : WorkOfRatios(flags);
  BenchOutput output(flags.json, work.lines.size());
  for (const Work::Line& line : work.lines) {
    CaseSpec spec = flags.spec;
    if (flags.form != "terms") {
      spec.form = flags.form == "dense" ? bench::MaskForm::kDense : bench::MaskForm::kBias;
    }
    spec.problem = work.problem;
    spec.lengths = line.lengths;
    spec.term = line.term;
    const Case c = ValueOf(command, bench::MakeCase(spec));
    output.Begin(c, line.ratio);
    output.Add({c, line.ratio, flags.layout, flags.empty_rows, flags.seed,
                ValueOf(command,
                        bench::RunCase(c, work.inputs, LayoutOf(flags), options, flags.measure))});
  }
  if (!output.End()) throw CLI::RuntimeError(1);
}

void AddCaseFlags(CLI::App* command, BenchFlags* flags) {
  command
      ->add_option("case", flags->spec.name,
                   "padding, causal, window, documents, cross, decode or terms")
      ->required()
      ->check(OneOf(bench::CaseNames()))
      ->type_name("");
  command->option_defaults()->group("Case");
  command
      ->add_option("--ratios", flags->ratios,
                   "Shares of padding, a line for each (default: 0,.25,.5,.75,.9 in padding and "
                   "cross, else 0)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(Share())
      ->type_name("SHARE");
  CLI::Option* text = command->add_option(
      "--text", flags->text, "padding: the paragraphs of this file are the sequences of a batch");
  CLI::Option* lengths = command->add_option("--lengths", flags->lengths,
                                             "padding: this file has the sequences' lengths");
  for (CLI::Option* file : {text, lengths}) {
    file->type_name("FILE")->excludes("--ratios")->excludes("--batch");
  }
  text->excludes(lengths);
  command->add_option("--window", flags->spec.window, "window: keys that a query attends")
      ->check(AtLeast(1))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--docs", flags->spec.documents, "documents: how many in each sequence")
      ->check(AtLeast(1))
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--causal", flags->spec.causal, "padding, documents: causal as well");
  command
      ->add_option("--form", flags->form,
                   "How the mask is given: as terms, as a dense array of bools, or as a bias of 0 "
                   "and -inf")
      ->check(OneOf({"terms", "dense", "bias"}))
      ->type_name("NAME")
      ->capture_default_str();
}

void AddRunningFlags(CLI::App* command, BenchFlags* flags) {
  flags->run.AddTo(command);
  command->add_option("--empty-rows", flags->empty_rows, "Rows without a key: zero or keep")
      ->check(OneOf({"zero", "keep"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--layout", flags->layout, "Order of the axes in memory: bhtd or bthd")
      ->check(OneOf({"bhtd", "bthd"}))
      ->type_name("NAME")
      ->capture_default_str();
  command->add_option("--repeat", flags->measure.repeat, "Rounds of measuring, at least")
      ->check(AtLeast(1))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--min-time", flags->measure.min_seconds, "Seconds a line, at least")
      ->check(AtLeast(0))
      ->type_name("S")
      ->capture_default_str();
  command->add_option("--seed", flags->seed, "Of the inputs")
      ->check(AtLeast(0))
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

void AddBench(CLI::App* app) {
  CLI::App* command = app->add_subcommand("bench", "Speed of a case beside its yardsticks");
  command->footer(
      "decode: the newest --seq (default 1) tokens over --kv-seq (32768) keys, batch 1, 32 heads "
      "on 8\n"
      "key heads, dim 128, beside a plain sum over the same bytes of k and v.\n"
      "terms: what a softcap, each kind of bias, and sinks cost.\n"
      "Exits with 1 if a result is not that of the reference.\n"
      "Example:\n"
      "  skipattn bench padding --seq 512 --ratios 0,.5,.9 --threads 1");
  const auto flags = std::make_shared<BenchFlags>();
  flags->sizes.AddTo(command);
  AddCaseFlags(command, flags.get());
  AddRunningFlags(command, flags.get());
  command->option_defaults()->group("Options");
  command->add_flag("--json", flags->json, "One JSON object a line instead of a table");
  command->callback([command, flags] { Bench(*command, *flags); });
}

}  // namespace skipattn::cli
