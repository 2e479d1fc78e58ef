// Uses every function of the C interface and compares what it gives with the C++ interface, bit by
// bit. A test looks whether a function of the header is missing here.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skipattn/skipattn.h"
#include "tests/c/check.h"
#include "tests/c/cpp_answers.h"

static skipattn_tensor View(const void* data, int32_t dtype, int32_t rank, int64_t s0, int64_t s1,
                            int64_t s2, int64_t s3) {
  const int64_t shape[4] = {s0, s1, s2, s3};
  skipattn_tensor view = SKIPATTN_TENSOR_INIT;
  CHECK_OK(skipattn_tensor_contiguous(&view, data, dtype, rank, shape));
  return view;
}

static void Fill(Inputs* in, int64_t batch) {
  uint32_t state = 12345;
  float* const arrays[3] = {in->q, in->k, in->v};
  const size_t sizes[3] = {sizeof(in->q), sizeof(in->k), sizeof(in->v)};
  in->batch = batch;
  for (int a = 0; a < 3; ++a) {
    for (size_t n = 0; n < sizes[a] / sizeof(float); ++n) {
      state = state * 1664525u + 1013904223u;
      arrays[a][n] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  for (int b = 0; b < kMostBatch; ++b) {
    in->lengths[b] = 30 - 19 * b;
    in->begin[b] = 3 + b;
    in->end[b] = 20 + 9 * b;
    in->offsets[b] = 2 - 5 * b;
    for (int t = 0; t < kLength; ++t) {
      in->valid[b * kLength + t] = (t + b) % 5 != 2;
      in->ids[b * kLength + t] = t < 3 ? -1 : t / (8 + b);
    }
  }
  in->boundaries[0] = 0;
  in->boundaries[1] = 11;
  in->boundaries[2] = 11;
  in->boundaries[3] = kLength;
  for (int n = 0; n < kLength * kLength; ++n) in->dense[n] = (uint8_t)(n % 7 < 3);
  for (int h = 0; h < kHeads; ++h) {
    in->sinks[h] = 1.5f * (float)h - 2.0f;
    in->slopes[h] = 1.0f / (float)(1 << h);
  }
  for (int n = 0; n < kHeads * kTable; ++n) in->table[n] = (float)(n % 5) * 0.75f - 1.0f;
  // The first head's plane is a mask, those of the others are numbers and some -inf.
  for (int n = 0; n < kHeads * kLength * kLength; ++n) {
    in->bias[n] = n % 7 >= 3 && (n < kLength * kLength || n % 3 == 0) ? -INFINITY
                  : n < kLength * kLength                             ? 0.0f
                                                                      : (float)(n % 11) - 4.5f;
  }
}

// The mask function of the inputs whose lengths are its context.
static int AllowsIn(void* context, int64_t b, int64_t h, int64_t i, int64_t j) {
  return 7 * Allows((const int64_t*)context, b, h, i, j);
}

// A mask in C. What the terms were given as tensors and diagonals goes away here; arrays stay.
static skipattn_mask* MaskOf(const Inputs* in, int term) {
  const int64_t b = in->batch, t = kLength;
  const skipattn_tensor lengths = View(in->lengths, SKIPATTN_I64, 1, b, 0, 0, 0);
  const skipattn_tensor begin = View(in->begin, SKIPATTN_I32, 1, b, 0, 0, 0);
  const skipattn_tensor end = View(in->end, SKIPATTN_I32, 1, b, 0, 0, 0);
  const skipattn_tensor offsets = View(in->offsets, SKIPATTN_I64, 1, b, 0, 0, 0);
  const skipattn_tensor valid = View(in->valid, SKIPATTN_BOOL, 2, b, t, 0, 0);
  const skipattn_tensor ids = View(in->ids, SKIPATTN_I32, 2, b, t, 0, 0);
  const skipattn_tensor boundaries = View(in->boundaries, SKIPATTN_I64, 1, 4, 0, 0, 0);
  const skipattn_tensor dense = View(in->dense, SKIPATTN_BOOL, 2, t, t, 0, 0);
  const skipattn_tensor blocks = View(in->dense, SKIPATTN_BOOL, 2, kBlocksQ, kBlocksK, 0, 0);
  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  skipattn_mask* mask = NULL;
  switch (term) {
    case kEverything:
      CHECK_OK(skipattn_mask_everything(&mask));
      break;
    case kKeyLengths:
      CHECK_OK(skipattn_mask_key_lengths(&lengths, &mask));
      break;
    case kKeyRange:
      CHECK_OK(skipattn_mask_key_range(&begin, &end, &mask));
      break;
    case kKeyValid:
      CHECK_OK(skipattn_mask_key_valid(&valid, &mask));
      break;
    case kQueryLengths:
      CHECK_OK(skipattn_mask_query_lengths(&lengths, &mask));
      break;
    case kQueryRange:
      CHECK_OK(skipattn_mask_query_range(&begin, &end, &mask));
      break;
    case kQueryValid:
      CHECK_OK(skipattn_mask_query_valid(&valid, &mask));
      break;
    case kPadding:
      CHECK_OK(skipattn_mask_padding(&valid, &mask));
      break;
    case kCausal:
      CHECK_OK(skipattn_mask_causal(NULL, &mask));
      break;
    case kCausalBottomRight:
      diagonal.align = SKIPATTN_ALIGN_BOTTOM_RIGHT;
      CHECK_OK(skipattn_mask_causal(&diagonal, &mask));
      break;
    case kCausalOffset:
      diagonal.has_offset = 1;
      diagonal.offset = -3;
      CHECK_OK(skipattn_mask_causal(&diagonal, &mask));
      break;
    case kWindow:
      CHECK_OK(skipattn_mask_window(5, 2, NULL, &mask));
      break;
    case kWindowOffsets:
      diagonal.offsets = &offsets;
      CHECK_OK(skipattn_mask_window(4, -1, &diagonal, &mask));
      break;
    case kDocuments:
      CHECK_OK(skipattn_mask_documents(&ids, &ids, &mask));
      break;
    case kDocumentsFromBoundaries:
      CHECK_OK(skipattn_mask_documents_from_boundaries(&boundaries, &boundaries, &mask));
      break;
    case kPrefixCausal:
      CHECK_OK(skipattn_mask_prefix_causal(&begin, NULL, &mask));
      break;
    case kPrefixCausalOffset:
      diagonal.has_offset = 1;
      diagonal.offset = -3;
      CHECK_OK(skipattn_mask_prefix_causal(&begin, &diagonal, &mask));
      break;
    case kDense:
      CHECK_OK(skipattn_mask_dense(&dense, "qk", &mask));
      break;
    case kBlocks:
      CHECK_OK(skipattn_mask_blocks(&blocks, "qk", kBlockQ, kBlockK, &mask));
      break;
    case kFunction:
      CHECK_OK(skipattn_mask_function(AllowsIn, (void*)(uintptr_t)in->lengths, &mask));
      break;
    default: {  // joined; the parts may go at once
      skipattn_mask *a = MaskOf(in, kKeyLengths), *c = MaskOf(in, kCausal), *both = NULL;
      skipattn_mask *d = MaskOf(in, kDense), *other = NULL;
      CHECK_OK(skipattn_mask_and(a, c, &both));
      skipattn_mask_free(a);
      skipattn_mask_free(c);
      if (term == kJoined) {
        CHECK_OK(skipattn_mask_and(both, d, &mask));
      } else {
        CHECK_OK(skipattn_mask_not(d, &other));
        CHECK_OK(skipattn_mask_or(both, other, &mask));
      }
      skipattn_mask_free(both);
      skipattn_mask_free(d);
      skipattn_mask_free(other);
    }
  }
  return mask;
}

// A bias in C, but for none.
static skipattn_bias* BiasOf(const Inputs* in, int kind) {
  const skipattn_tensor numbers = View(in->bias, SKIPATTN_F32, 3, kHeads, kLength, kLength, 0);
  const skipattn_tensor plane = View(in->bias, SKIPATTN_F32, 2, kLength, kLength, 0, 0);
  const skipattn_tensor slopes = View(in->slopes, SKIPATTN_F32, 1, kHeads, 0, 0, 0);
  const skipattn_tensor table = View(in->table, SKIPATTN_F32, 2, kHeads, kTable, 0, 0);
  const skipattn_tensor offsets = View(in->offsets, SKIPATTN_I64, 1, in->batch, 0, 0, 0);
  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  skipattn_bias* bias = NULL;
  switch (kind) {
    case kDenseBias:
      CHECK_OK(skipattn_bias_dense(&numbers, "hqk", &bias));
      break;
    case kMaskingBias:
      CHECK_OK(skipattn_bias_dense(&plane, "qk", &bias));
      break;
    case kAlibi:
      diagonal.offsets = &offsets;
      CHECK_OK(skipattn_bias_alibi(&slopes, &diagonal, &bias));
      break;
    case kRelative:
      diagonal.align = SKIPATTN_ALIGN_BOTTOM_RIGHT;
      CHECK_OK(skipattn_bias_relative(&table, &diagonal, &bias));
      break;
    default:
      break;
  }
  return bias;
}

// What a run is, beside its inputs: a plan or, for the one shot, a mask and options.
typedef struct Way {
  const skipattn_plan* plan;
  const skipattn_mask* mask;
  const skipattn_options* options;
  int sinks;
  const skipattn_tensor* bias;
} Way;

// A run into outputs that were 0xAA everywhere.
static void Run(const Inputs* in, Way way, Outputs* result) {
  const int64_t b = in->batch;
  const skipattn_tensor q = View(in->q, SKIPATTN_F32, 4, b, kHeads, kLength, kDim);
  const skipattn_tensor k = View(in->k, SKIPATTN_F32, 4, b, kKvHeads, kLength, kDim);
  const skipattn_tensor v = View(in->v, SKIPATTN_F32, 4, b, kKvHeads, kLength, kVDim);
  const skipattn_tensor out = View(result->out, SKIPATTN_F32, 4, b, kHeads, kLength, kVDim);
  const skipattn_tensor lse = View(result->lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
  const skipattn_tensor logits = View(in->sinks, SKIPATTN_F32, 1, kHeads, 0, 0, 0);
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  args.sinks = way.sinks ? &logits : NULL;
  args.bias = way.bias;
  args.q = &q;
  args.k = &k;
  args.v = &v;
  args.out = &out;
  args.lse = &lse;
  memset(result, 0xAA, sizeof(*result));
  if (way.plan == NULL) {
    CHECK_OK(skipattn_attention(&args, way.mask, way.options));
  } else {
    void* memory;
    args.threads = 2;
    CHECK_OK(skipattn_plan_workspace_bytes(way.plan, args.threads, &args.workspace_bytes));
    memory = malloc(args.workspace_bytes + 64);
    args.workspace = (void*)(((uintptr_t)memory + 63) / 64 * 64);
    CHECK_OK(skipattn_plan_run(way.plan, &args));
    free(memory);
  }
}

static skipattn_plan* PlanOf(const Inputs* in, Way way) {
  skipattn_problem problem = SKIPATTN_PROBLEM_INIT;
  skipattn_plan* plan = NULL;
  problem.batch = in->batch;
  problem.heads = kHeads;
  problem.kv_heads = kKvHeads;
  problem.q_len = problem.k_len = kLength;
  problem.has_sinks = way.sinks;
  problem.has_bias = way.bias != NULL;
  problem.dim = kDim;
  problem.v_dim = kVDim;
  CHECK_OK(skipattn_plan_create(&problem, way.mask, way.options, &plan));
  return plan;
}

// The one shot, and a plan.
static void CompareWay(const Inputs* in, Way way, const Outputs* want) {
  static Outputs got;
  skipattn_plan* plan;
  Run(in, way, &got);
  CHECK(memcmp(&got, want, sizeof(got)) == 0);
  way.plan = plan = PlanOf(in, way);
  way.mask = NULL;
  way.options = NULL;
  Run(in, way, &got);
  CHECK(memcmp(&got, want, sizeof(got)) == 0);
  skipattn_plan_free(plan);
}

static void CompareStats(const Inputs* in, int term, int bias, const skipattn_plan* plan) {
  static CppStats want;
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  const char* text = NULL;
  size_t bytes = 0;
  CHECK(CppPlanStats(in, term, bias, &want) == 0);
  CHECK_OK(skipattn_plan_get_stats(plan, &stats));
  CHECK(stats.struct_size == sizeof(stats));
  CHECK(stats.live_pairs == want.live_pairs && stats.dense_pairs == want.dense_pairs);
  CHECK(stats.empty_rows == want.empty_rows && stats.tiles == want.tiles);
  CHECK(stats.skipped_blocks == want.skipped_blocks && stats.full_blocks == want.full_blocks);
  CHECK(stats.partial_blocks == want.partial_blocks && stats.needs_bias == want.needs_bias);
  CHECK(strcmp(stats.config, want.config) == 0 && strcmp(stats.target, want.target) == 0);
  CHECK_OK(skipattn_plan_describe(plan, &text));
  CHECK(text != NULL && strcmp(text, want.text) == 0);
  CHECK_OK(skipattn_plan_workspace_bytes(plan, 3, &bytes));
  CHECK(bytes == want.workspace_bytes && bytes > 0);
}

static void CompareTerm(const Inputs* in, int term) {
  static Outputs want;
  Way way = {0};
  skipattn_mask* mask = MaskOf(in, term);
  skipattn_plan* plan;
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppAttention(in, term, 0, &want) == 0);
  way.mask = mask;
  CompareWay(in, way, &want);
  plan = PlanOf(in, way);
  CompareStats(in, term, kNoBias, plan);
  skipattn_plan_free(plan);
  skipattn_mask_free(mask);
}

static void CompareOptions(const Inputs* in) {
  static Outputs want;
  const int64_t origin = 0;
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_mask* mask = MaskOf(in, kJoined);
  Way way = {0};
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppAttention(in, kJoined, 0.25, &want) == 0);
  options.has_scale = 1;
  options.scale = 0.25;
  options.threads = 1;
  options.backend = SKIPATTN_BACKEND_REFERENCE;
  options.key_origin = &origin;
  options.key_origin_count = 1;
  way.mask = mask;
  way.options = &options;
  CompareWay(in, way, &want);
  skipattn_mask_free(mask);
}

static void CompareScores(const Inputs* in) {
  static Outputs want;
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_mask* mask = MaskOf(in, kQueryLengths);
  Way way = {0};
  way.mask = mask;
  way.options = &options;
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppScores(in, kQueryLengths, 0.75, kNoBias, 1, &want) == 0);
  options.softcap = 0.75;
  way.sinks = 1;
  CompareWay(in, way, &want);

  memset(&want, 0xAA, sizeof(want));
  CHECK(CppEmptyRowsAreNan(in, kQueryLengths, &want) == 0);
  options.softcap = 0;
  options.empty_rows = SKIPATTN_EMPTY_ROWS_NAN;
  way.sinks = 0;
  CompareWay(in, way, &want);
  skipattn_mask_free(mask);
}

// A bias is known to the plan, and a dense one is brought by the run unless it only masks.
static void CompareBias(const Inputs* in, int kind) {
  static Outputs want, got;
  const skipattn_tensor numbers = View(in->bias, SKIPATTN_F32, 4, 1, kHeads, kLength, kLength);
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_mask* mask = MaskOf(in, kKeyLengths);
  skipattn_bias* bias = BiasOf(in, kind);
  skipattn_plan* plan;
  Way way = {0};
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppScores(in, kKeyLengths, 2.5, kind, 1, &want) == 0);
  options.softcap = 2.5;
  options.bias = bias;
  way.mask = mask;
  way.options = &options;
  way.sinks = 1;
  Run(in, way, &got);  // the options have it
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  plan = PlanOf(in, way);
  skipattn_bias_free(bias);
  way.plan = plan;
  way.bias = kind == kDenseBias ? &numbers : NULL;
  Run(in, way, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  CompareStats(in, kKeyLengths, kind, plan);
  skipattn_plan_free(plan);
  if (kind == kDenseBias) {  // the runs alone bring it; what masks is then not skipped
    skipattn_stats stats = SKIPATTN_STATS_INIT;
    options.bias = NULL;
    way.plan = NULL;
    CompareWay(in, way, &want);
    options.bias = bias = BiasOf(in, kind);
    options.bias_not_mask = 1;
    plan = PlanOf(in, way);
    CHECK_OK(skipattn_plan_get_stats(plan, &stats));
    CHECK(stats.needs_bias == 1 && stats.live_pairs == kHeads * kLength * (30 + 11));
    skipattn_bias_free(bias);
    skipattn_plan_free(plan);
  }
  skipattn_mask_free(mask);
}

// Keys in two parts, the second beginning where the chunk grid does: the bits of one run. And
// merged, which is another question with the same answer in C++.
static void ComparePartsOfKeys(const Inputs* in) {
  enum { kFirst = 20 };
  static Outputs want, got, parts[2], state;
  const int64_t b = in->batch;
  skipattn_tensor max = View(state.lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
  skipattn_tensor sum = View(got.lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
  skipattn_tensor fold = View(state.out, SKIPATTN_F32, 4, b, kHeads, kLength, kVDim);
  skipattn_carry carry = SKIPATTN_CARRY_INIT;
  skipattn_merge_args merge = SKIPATTN_MERGE_ARGS_INIT;
  skipattn_tensor outs[3], lses[3];
  skipattn_mask* all = MaskOf(in, kEverything);
  carry.max = &max;
  carry.sum = &sum;
  carry.out = &fold;
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppFromOrigin(in, kFirst, &want) == 0);
  for (int part = 0; part < 4; ++part) {  // carried: 0 and 1, by themselves: 2 and 3
    const int64_t first = part % 2 ? kFirst : 0, keys = part % 2 ? kLength - kFirst : kFirst;
    const int64_t origin = kFirst - first;
    Outputs* const result = &parts[part % 2];
    skipattn_tensor q = View(in->q, SKIPATTN_F32, 4, b, kHeads, kLength, kDim);
    skipattn_tensor k = View(in->k + first * kDim, SKIPATTN_F32, 4, b, kKvHeads, kLength, kDim);
    skipattn_tensor v = View(in->v + first * kVDim, SKIPATTN_F32, 4, b, kKvHeads, kLength, kVDim);
    skipattn_tensor out = View(result->out, SKIPATTN_F32, 4, b, kHeads, kLength, kVDim);
    skipattn_tensor lse = View(result->lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
    skipattn_options options = SKIPATTN_OPTIONS_INIT;
    skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
    k.shape[2] = v.shape[2] = keys;  // the strides are those of all keys
    options.key_origin = &origin;
    options.key_origin_count = 1;
    args.q = &q;
    args.k = &k;
    args.v = &v;
    if (part != 0) {
      args.out = &out;
      args.lse = &lse;
    }
    if (part == 0) args.carry_out = &carry;
    if (part == 1) args.carry_in = &carry;
    memset(result, 0xAA, sizeof(*result));
    CHECK_OK(skipattn_attention(&args, all, &options));
    if (part == 1) CHECK(memcmp(result, &want, sizeof(want)) == 0);
  }
  skipattn_mask_free(all);

  memset(&want, 0xAA, sizeof(want));
  CHECK(CppMerge(b, &parts[0], &parts[1], &want) == 0);
  memset(&got, 0xAA, sizeof(got));
  for (int n = 0; n < 3; ++n) {
    Outputs* const side = n < 2 ? &parts[n] : &got;
    outs[n] = View(side->out, SKIPATTN_F32, 4, b, kHeads, kLength, kVDim);
    lses[n] = View(side->lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
  }
  merge.out_a = &outs[0];
  merge.lse_a = &lses[0];
  merge.out_b = &outs[1];
  merge.lse_b = &lses[1];
  merge.out = &outs[2];
  merge.lse = &lses[2];
  CHECK_OK(skipattn_merge(&merge));
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
}

static void CompareInfo(void) {
  size_t count = 0, configs = 0, n = 0;
  char name[64];
  int numbers[3];
  int32_t threads = 0;
  const char *best = NULL, *config = NULL, *first = NULL;
  CHECK(strcmp(skipattn_version(), CppVersion()) == 0);
  CHECK(skipattn_arithmetic_version() == CppArithmeticVersion());
  CHECK_OK(skipattn_available_threads(&threads));
  CHECK(threads == CppAvailableThreads());
  CHECK(skipattn_has_feature("f32") == 1);
  CHECK(skipattn_has_feature("no such thing") == 0);

  CHECK_OK(skipattn_best_target(&best));
  CHECK_OK(skipattn_target_count(&count));
  for (n = 0; CppTarget(n, name, numbers) == 0; ++n) {
    skipattn_target_info info = SKIPATTN_TARGET_INFO_INIT;
    CHECK_OK(skipattn_target_get(n, &info));
    CHECK(strcmp(info.name, name) == 0 && info.supported == numbers[0]);
    CHECK(info.exact == numbers[1] && info.lanes == numbers[2]);
    if (info.supported && first == NULL) {
      first = info.name;
      CHECK(strcmp(best, first) == 0);
      CHECK(skipattn_has_feature("exact") == info.exact);
    }
  }
  CHECK(n == count && first != NULL);

  CHECK_OK(skipattn_config_count(NULL, &configs));
  for (n = 0; CppConfig("", n, name) == 0; ++n) {
    CHECK_OK(skipattn_config_get(best, n, &config));
    CHECK(strcmp(config, name) == 0);
  }
  CHECK(n == configs && configs > 0);
}

int main(void) {
  static Inputs in;
  CHECK(strcmp(skipattn_last_error(), "") == 0);
  Fill(&in, 2);
  for (int term = 0; term < kTerms; ++term) {
    if (term != kDocumentsFromBoundaries) CompareTerm(&in, term);
  }
  CompareOptions(&in);
  CompareScores(&in);
  for (int bias = 0; bias < kBiases; ++bias) CompareBias(&in, bias);
  ComparePartsOfKeys(&in);
  in.batch = 1;
  CompareTerm(&in, kDocumentsFromBoundaries);
  CompareInfo();
  return Summary();
}
