// Answers through the C++ interface; see cpp_answers.h.
#include "tests/c/cpp_answers.h"

#include <cstdio>
#include <string>
#include <vector>

#include "skipattn/attention.h"

namespace {

using skipattn::ConstTensor;
using skipattn::DType;
using skipattn::Mask;
using skipattn::mask::Align;

Mask MaskOf(const Inputs& in, int term) {
  namespace mask = skipattn::mask;
  const int64_t b = in.batch, t = kLength;
  const ConstTensor lengths(in.lengths, {b}), begin(in.begin, {b}), end(in.end, {b});
  const ConstTensor valid(in.valid, DType::kBool, {b, t}), ids(in.ids, {b, t});
  const ConstTensor boundaries(in.boundaries, {4}), dense(in.dense, DType::kBool, {t, t});
  const ConstTensor blocks(in.dense, DType::kBool, {kBlocksQ, kBlocksK});
  switch (term) {
    case kKeyLengths:
      return mask::KeyLengths(lengths);
    case kKeyRange:
      return mask::KeyRange(begin, end);
    case kKeyValid:
      return mask::KeyValid(valid);
    case kQueryLengths:
      return mask::QueryLengths(lengths);
    case kQueryRange:
      return mask::QueryRange(begin, end);
    case kQueryValid:
      return mask::QueryValid(valid);
    case kPadding:
      return mask::Padding(valid);
    case kCausal:
      return mask::Causal();
    case kCausalBottomRight:
      return mask::Causal(Align::kBottomRight);
    case kCausalOffset:
      return mask::Causal(-3);
    case kWindow:
      return mask::Window(5, 2);
    case kWindowOffsets:
      return mask::Window(4, -1, ConstTensor(in.offsets, {b}));
    case kDocuments:
      return mask::Documents(ids, ids);
    case kDocumentsFromBoundaries:
      return mask::DocumentsFromBoundaries(boundaries, boundaries);
    case kPrefixCausal:
      return mask::PrefixCausal(begin);
    case kPrefixCausalOffset:
      return mask::PrefixCausal(begin, -3);
    case kDense:
      return mask::Dense(dense, "qk");
    case kBlocks:
      return mask::Blocks(blocks, "qk", kBlockQ, kBlockK);
    case kFunction:
      return mask::Function([&in](int64_t entry, int64_t h, int64_t i, int64_t j) {
        return Allows(in.lengths, entry, h, i, j) != 0;
      });
    case kJoined:
      return mask::KeyLengths(lengths) & mask::Causal() & mask::Dense(dense, "qk");
    case kEither:
      return (mask::KeyLengths(lengths) & mask::Causal()) | ~mask::Dense(dense, "qk");
    default:
      return Mask();
  }
}

skipattn::Bias BiasOf(const Inputs& in, int kind) {
  namespace bias = skipattn::bias;
  const ConstTensor numbers(in.bias, {kHeads, kLength, kLength});
  const ConstTensor plane(in.bias, {kLength, kLength});
  const ConstTensor slopes(in.slopes, {kHeads}), table(in.table, {kHeads, kTable});
  switch (kind) {
    case kDenseBias:
      return bias::Dense(numbers, "hqk");
    case kMaskingBias:
      return bias::Dense(plane, "qk");
    case kAlibi:
      return bias::Alibi(slopes, ConstTensor(in.offsets, {in.batch}));
    case kRelative:
      return bias::Relative(table, Align::kBottomRight);
    default:
      return {};
  }
}

skipattn::RunArgs ArgsOf(const Inputs& in, Outputs* out) {
  skipattn::RunArgs args;
  args.q = ConstTensor(in.q, {in.batch, kHeads, kLength, kDim});
  args.k = ConstTensor(in.k, {in.batch, kKvHeads, kLength, kDim});
  args.v = ConstTensor(in.v, {in.batch, kKvHeads, kLength, kVDim});
  args.out = skipattn::Tensor(out->out, {in.batch, kHeads, kLength, kVDim});
  args.lse = skipattn::Tensor(out->lse, {in.batch, kHeads, kLength});
  return args;
}

/// 0, or 1 where the name does not fit.
int Copy(const std::string& from, char* to, size_t size) {
  const int length = std::snprintf(to, size, "%s", from.c_str());
  return length < 0 || static_cast<size_t>(length) >= size;
}

}  // namespace

int CppAttention(const Inputs* inputs, int term, double scale, Outputs* outputs) {
  skipattn::AttentionOptions options;
  if (scale != 0) options.scale = scale;
  return !skipattn::Attention(ArgsOf(*inputs, outputs), MaskOf(*inputs, term), options).ok();
}

int CppScores(const Inputs* inputs, int term, double softcap, int bias, int sinks,
              Outputs* outputs) {
  skipattn::AttentionOptions options;
  options.softcap = softcap;
  skipattn::RunArgs args = ArgsOf(*inputs, outputs);
  if (sinks != 0) args.sinks = ConstTensor(inputs->sinks, {kHeads});
  return !skipattn::Attention(args, MaskOf(*inputs, term), BiasOf(*inputs, bias), options).ok();
}

int CppFromOrigin(const Inputs* inputs, int64_t origin, Outputs* outputs) {
  skipattn::AttentionOptions options;
  options.key_origin = {origin};
  return !skipattn::Attention(ArgsOf(*inputs, outputs), {}, options).ok();
}

int CppMerge(int64_t batch, const Outputs* a, const Outputs* b, Outputs* outputs) {
  const auto out = [&](auto* side) {
    return skipattn::ConstTensor(side->out, {batch, kHeads, kLength, kVDim});
  };
  const auto lse = [&](auto* side) {
    return skipattn::ConstTensor(side->lse, {batch, kHeads, kLength});
  };
  skipattn::MergeArgs args;
  args.out_a = out(a);
  args.lse_a = lse(a);
  args.out_b = out(b);
  args.lse_b = lse(b);
  args.out = skipattn::Tensor(outputs->out, {batch, kHeads, kLength, kVDim});
  args.lse = skipattn::Tensor(outputs->lse, {batch, kHeads, kLength});
  return !skipattn::Merge(args).ok();
}

int CppEmptyRowsAreNan(const Inputs* inputs, int term, Outputs* outputs) {
  skipattn::AttentionOptions options;
  options.empty_rows = skipattn::EmptyRows::kNan;
  return !skipattn::Attention(ArgsOf(*inputs, outputs), MaskOf(*inputs, term), options).ok();
}

int CppPlanStats(const Inputs* inputs, int term, int bias, CppStats* stats) {
  Outputs unused;
  const auto problem = skipattn::ProblemOf(ArgsOf(*inputs, &unused));
  if (!problem.ok()) return 1;
  const auto plan = skipattn::MakePlan(*problem, MaskOf(*inputs, term), BiasOf(*inputs, bias), {});
  if (!plan.ok()) return 1;
  const skipattn::PlanStats s = plan->stats();
  stats->live_pairs = s.live_pairs;
  stats->dense_pairs = s.dense_pairs;
  stats->empty_rows = s.empty_rows;
  stats->tiles = s.tiles;
  stats->skipped_blocks = s.skipped_blocks;
  stats->full_blocks = s.full_blocks;
  stats->partial_blocks = s.partial_blocks;
  stats->needs_bias = s.needs_bias;
  stats->workspace_bytes = plan->workspace_bytes(3);
  return Copy(s.config, stats->config, sizeof(stats->config)) |
         Copy(s.target, stats->target, sizeof(stats->target)) |
         Copy(plan->Describe(), stats->text, sizeof(stats->text));
}

int CppTarget(size_t index, char name[64], int numbers[3]) {
  const std::vector<skipattn::TargetInfo> targets = skipattn::CompiledTargets();
  if (index >= targets.size()) return 1;
  numbers[0] = targets[index].supported;
  numbers[1] = targets[index].exact;
  numbers[2] = targets[index].lanes;
  return Copy(targets[index].name, name, 64);
}

int CppConfig(const char* target, size_t index, char name[64]) {
  const auto configs = skipattn::TileConfigs(target);
  return !configs.ok() || index >= configs->size() || Copy((*configs)[index], name, 64);
}

int CppAvailableThreads(void) { return skipattn::AvailableThreads(); }
const char* CppVersion(void) { return skipattn::Version(); }
int CppArithmeticVersion(void) { return skipattn::ArithmeticVersion(); }
