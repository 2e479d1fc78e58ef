// skipattn explain: a problem and a mask in, the plan and its picture out.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases.h"
#include "cli/commands.h"
#include "cli/flags.h"
#include "cli/npy.h"
#include "runtime/plan_impl.h"
#include "skipattn/attention.h"

namespace skipattn::cli {
namespace {

struct ExplainFlags {
  SizeFlags sizes{1, 1, 64, 64};
  RunFlags run;
  std::vector<int64_t> key_lengths, prefix, documents;
  std::vector<std::string> key_range, window;
  std::string causal, dense, axes, bias, bias_axes, svg;
  double padding = 0;
  int64_t entry = 0, head = 0;
  bool json = false;
};

// The mask of the flags. It borrows the arrays, so it stays where it is.
class FlagMask {
 public:
  FlagMask(const CLI::App& command, const ExplainFlags& flags, const NpyArray& dense,
           const Problem& problem);
  FlagMask(const FlagMask&) = delete;
  FlagMask& operator=(const FlagMask&) = delete;

  Mask mask;

 private:
  void AddKeyRange(const std::vector<std::string>& ranges);
  void AddWindow(const std::vector<std::string>& parts);
  void AddDocuments(const std::vector<int64_t>& lengths, const Problem& problem);
  void AddPadding(double ratio, const Problem& problem);

  std::vector<int64_t> key_lengths_, prefix_, begin_, end_;
  std::vector<int32_t> document_ids_;
  std::vector<uint8_t> valid_;
};

int64_t Integer(const std::string& flag, const std::string& text) {
  int64_t value = 0;
  if (!ParseInteger(text, &value)) {
    throw CLI::ValidationError(flag, "\"" + text + "\" is no integer");
  }
  return value;
}

mask::Diagonal DiagonalOf(const std::string& flag, const std::string& text) {
  if (text.empty()) return {};
  if (text == "top_left") return mask::Align::kTopLeft;
  if (text == "bottom_right") return mask::Align::kBottomRight;
  int64_t offset = 0;
  if (!ParseInteger(text, &offset)) {
    throw CLI::ValidationError(flag, "\"" + text +
                                         "\" is neither top_left nor bottom_right nor "
                                         "an offset");
  }
  return offset;
}

FlagMask::FlagMask(const CLI::App& command, const ExplainFlags& flags, const NpyArray& dense,
                   const Problem& problem)
    : key_lengths_(flags.key_lengths), prefix_(flags.prefix) {
  if (!key_lengths_.empty()) mask &= mask::KeyLengths(key_lengths_);
  if (!flags.key_range.empty()) AddKeyRange(flags.key_range);
  if (command.count("--causal") > 0) {
    const mask::Diagonal diagonal = DiagonalOf("--causal", flags.causal);
    mask &= prefix_.empty() ? mask::Causal(diagonal) : mask::PrefixCausal(prefix_, diagonal);
  }
  if (!flags.window.empty()) AddWindow(flags.window);
  if (!flags.documents.empty()) AddDocuments(flags.documents, problem);
  if (command.count("--padding") > 0) AddPadding(flags.padding, problem);
  if (!flags.dense.empty()) mask &= mask::Dense(dense.View(), flags.axes);
}

void FlagMask::AddKeyRange(const std::vector<std::string>& ranges) {
  for (const std::string& range : ranges) {
    const size_t colon = range.find(':');
    if (colon == std::string::npos) {
      throw CLI::ValidationError("--key-range", "\"" + range + "\" is not BEGIN:END");
    }
    begin_.push_back(Integer("--key-range", range.substr(0, colon)));
    end_.push_back(Integer("--key-range", range.substr(colon + 1)));
  }
  mask &= mask::KeyRange(begin_, end_);
}

void FlagMask::AddWindow(const std::vector<std::string>& parts) {
  if (parts.size() != 2 && parts.size() != 3) {
    throw CLI::ValidationError("--window", "expected LEFT,RIGHT or LEFT,RIGHT,ALIGN");
  }
  mask &= mask::Window(Integer("--window", parts[0]), Integer("--window", parts[1]),
                       DiagonalOf("--window", parts.size() == 3 ? parts[2] : ""));
}

void FlagMask::AddDocuments(const std::vector<int64_t>& lengths, const Problem& problem) {
  if (problem.q_len != problem.k_len) {
    throw CLI::ValidationError("--documents",
                               "queries and keys are packed alike, so --kv-seq "
                               "must be --seq");
  }
  int64_t left = problem.k_len;
  for (int64_t length : lengths) {
    left -= std::min(length, left + 1);
    if (left < 0) throw CLI::ValidationError("--documents", "they have more tokens than --seq");
  }
  for (int64_t b = 0; b < problem.batch; ++b) {
    for (size_t n = 0; n < lengths.size(); ++n) {
      document_ids_.insert(document_ids_.end(), lengths[n], static_cast<int32_t>(n));
    }
    document_ids_.resize((b + 1) * problem.k_len, -1);  // what is left belongs to no document
  }
  const ConstTensor ids(document_ids_.data(), {problem.batch, problem.k_len});
  mask &= mask::Documents(ids, ids);
}

void FlagMask::AddPadding(double ratio, const Problem& problem) {
  const int64_t len = problem.k_len;
  const int64_t kept = bench::LengthsAtRatio(1, len, ratio)[0];
  for (int64_t n = 0; n < problem.batch * len; ++n) valid_.push_back(n % len < kept);
  mask &= mask::Padding(ConstTensor(valid_.data(), DType::kBool, {problem.batch, len}));
}

std::string JsonOf(const Plan& plan) {
  const PlanStats stats = plan.stats();
  nlohmann::ordered_json json;
  json["mask"] = plan.impl().data.mask;
  json["bias"] = plan.impl().data.bias;
  json["needs_bias"] = stats.needs_bias;
  json["live_pairs"] = stats.live_pairs;
  json["dense_pairs"] = stats.dense_pairs;
  json["live_share"] = static_cast<double>(stats.live_pairs) /
                       static_cast<double>(std::max<int64_t>(stats.dense_pairs, 1));
  json["predicted_share"] = internal::PredictedShare(plan.impl().data);
  json["empty_rows"] = stats.empty_rows;
  json["tiles"] = stats.tiles;
  json["skipped_blocks"] = stats.skipped_blocks;
  json["full_blocks"] = stats.full_blocks;
  json["partial_blocks"] = stats.partial_blocks;
  json["config"] = stats.config;
  json["target"] = stats.target;
  return json.dump();
}

// Sizes that no flag gives follow the arrays.
void FollowEntries(const CLI::App& command, ExplainFlags* flags) {
  if (command.count("--batch") > 0) return;
  const size_t entries =
      std::max({flags->key_lengths.size(), flags->key_range.size(), flags->prefix.size()});
  flags->sizes.batch = std::max<int64_t>(1, static_cast<int64_t>(entries));
}

void FollowArray(const CLI::App& command, const NpyArray& dense, const std::string& given_axes,
                 SizeFlags* of) {
  SizeFlags& sizes = *of;
  const std::string axes = given_axes.empty() ? "bhqk" : given_axes;
  if (dense.shape.size() != axes.size()) return;  // planning says what is wrong
  const auto follow = [&](const char* flag, char axis, int64_t* size) {
    const size_t at = axes.find(axis);
    if (command.count(flag) == 0 && at != std::string::npos && dense.shape[at] > 1) {
      *size = dense.shape[at];
    }
  };
  follow("--batch", 'b', &sizes.batch);
  follow("--heads", 'h', &sizes.heads);
  follow("--seq", 'q', &sizes.seq);
  follow("--kv-seq", 'k', &sizes.kv_seq);
}

void WriteSvg(const Plan& plan, const ExplainFlags& flags) {
  const auto check = [](const char* flag, int64_t value, int64_t size) {
    if (value < size) return;
    throw CLI::ValidationError(flag,
                               std::to_string(value) + " is not below " + std::to_string(size));
  };
  check("--entry", flags.entry, plan.problem().batch);
  check("--head", flags.head, plan.problem().heads);
  std::ofstream file(flags.svg);
  file << internal::Drawing(plan.impl().data, flags.entry, flags.head);
  if (!file.flush()) throw CLI::ValidationError("--svg", flags.svg + " cannot be written");
}

void Explain(const CLI::App& command, ExplainFlags flags) {
  NpyArray dense, numbers;
  FollowEntries(command, &flags);
  if (!flags.dense.empty()) {
    dense = ValueOf(command, ReadNpy("dense", flags.dense, DType::kBool));
    FollowArray(command, dense, flags.axes, &flags.sizes);
  }
  Bias bias;
  if (!flags.bias.empty()) {
    numbers = ValueOf(command, ReadNpy("bias", flags.bias, DType::kF32));
    FollowArray(command, numbers, flags.bias_axes, &flags.sizes);
    bias = bias::Dense(numbers.View(), flags.bias_axes);
  }
  const Problem problem = flags.sizes.ToProblem();
  const FlagMask flag_mask(command, flags, dense, problem);
  const Plan plan =
      ValueOf(command, MakePlan(problem, flag_mask.mask, bias, flags.run.ToOptions()));
  if (!flags.svg.empty()) WriteSvg(plan, flags);
  if (flags.json) {
    std::cout << JsonOf(plan) << "\n";
    return;
  }
  const std::string text = plan.Describe();
  std::cout << text << (text.empty() || text.back() != '\n' ? "\n" : "");
}

void AddMaskFlags(CLI::App* command, ExplainFlags* flags) {
  command->option_defaults()->group("Mask (all that are given must allow a pair)");
  command->add_option("--key-lengths", flags->key_lengths, "Keys of each sequence: 5,3")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("N");
  command->add_option("--key-range", flags->key_range, "First key and end of each: 0:5,2:7")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("BEGIN:END");
  CLI::Option* causal = command
                            ->add_option("--causal", flags->causal,
                                         "Keys up to the query's: top_left, bottom_right or "
                                         "an offset")
                            ->expected(0, 1)
                            ->type_name("[ALIGN]");
  command
      ->add_option("--prefix", flags->prefix,
                   "First keys of each sequence that --causal leaves to all queries: 5,3")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->needs(causal)
      ->type_name("N");
  command->add_option("--window", flags->window, "Keys around the query's; -1 = no limit")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("LEFT,RIGHT[,ALIGN]");
  command->add_option("--documents", flags->documents, "Lengths of packed documents: 5,9,4")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(AtLeast(1))
      ->type_name("N");
  command
      ->add_option("--padding", flags->padding,
                   "Share of each sequence that is padding, at its "
                   "end")
      ->check(Share())
      ->type_name("SHARE");
  command->add_option("--dense", flags->dense, "An array of bools, saved by numpy.save")
      ->type_name("FILE.npy");
  command->add_option("--axes", flags->axes, "Which of bhqk its axes are: bk, qk, hqk, ...")
      ->needs("--dense")
      ->type_name("AXES");
  command
      ->add_option("--bias", flags->bias,
                   "An array of float32 that is added to the scores; its -inf mask")
      ->type_name("FILE.npy");
  command->add_option("--bias-axes", flags->bias_axes, "Which of bhqk its axes are")
      ->needs("--bias")
      ->type_name("AXES");
}

}  // namespace

void AddExplain(CLI::App* app) {
  CLI::App* command = app->add_subcommand("explain", "What a plan does for a problem and a mask");
  command->footer(
      "Example:\n"
      "  skipattn explain --seq 512 --causal --key-lengths 512,300\n"
      "  skipattn explain --dense mask.npy --axes qk --svg mask.svg");
  const auto flags = std::make_shared<ExplainFlags>();
  flags->sizes.AddTo(command);
  AddMaskFlags(command, flags.get());
  flags->run.AddTo(command);
  command->option_defaults()->group("Options");
  command->add_flag("--json", flags->json, "The plan's counters as one JSON object");
  CLI::Option* svg =
      command->add_option("--svg", flags->svg, "Draw the mask with its tiles")->type_name("FILE");
  command->add_option("--entry", flags->entry, "Batch entry that is drawn")
      ->needs(svg)
      ->check(AtLeast(0))
      ->type_name("N");
  command->add_option("--head", flags->head, "Query head that is drawn")
      ->needs(svg)
      ->check(AtLeast(0))
      ->type_name("N");
  command->callback([command, flags] { Explain(*command, *flags); });
}

}  // namespace skipattn::cli
