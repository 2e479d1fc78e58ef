// Uses every function of the C interface and compares what it gives with the C++ interface, bit by
// bit. A test looks whether a function of the header is missing here.
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

// A run of `plan`, or the one shot without one, into outputs that were 0xAA everywhere.
static void Run(const Inputs* in, const skipattn_mask* mask, const skipattn_options* options,
                const skipattn_plan* plan, const float* sinks, Outputs* result) {
  const int64_t b = in->batch;
  const skipattn_tensor q = View(in->q, SKIPATTN_F32, 4, b, kHeads, kLength, kDim);
  const skipattn_tensor k = View(in->k, SKIPATTN_F32, 4, b, kKvHeads, kLength, kDim);
  const skipattn_tensor v = View(in->v, SKIPATTN_F32, 4, b, kKvHeads, kLength, kVDim);
  const skipattn_tensor out = View(result->out, SKIPATTN_F32, 4, b, kHeads, kLength, kVDim);
  const skipattn_tensor lse = View(result->lse, SKIPATTN_F32, 3, b, kHeads, kLength, 0);
  const skipattn_tensor logits = View(sinks, SKIPATTN_F32, 1, kHeads, 0, 0, 0);
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  args.sinks = sinks != NULL ? &logits : NULL;
  args.q = &q;
  args.k = &k;
  args.v = &v;
  args.out = &out;
  args.lse = &lse;
  memset(result, 0xAA, sizeof(*result));
  if (plan == NULL) {
    CHECK_OK(skipattn_attention(&args, mask, options));
  } else {
    void* memory;
    args.threads = 2;
    CHECK_OK(skipattn_plan_workspace_bytes(plan, args.threads, &args.workspace_bytes));
    memory = malloc(args.workspace_bytes + 64);
    args.workspace = (void*)(((uintptr_t)memory + 63) / 64 * 64);
    CHECK_OK(skipattn_plan_run(plan, &args));
    free(memory);
  }
}

static skipattn_plan* PlanOf(const Inputs* in, const skipattn_mask* mask,
                             const skipattn_options* options, int has_sinks) {
  skipattn_problem problem = SKIPATTN_PROBLEM_INIT;
  skipattn_plan* plan = NULL;
  problem.batch = in->batch;
  problem.heads = kHeads;
  problem.kv_heads = kKvHeads;
  problem.q_len = problem.k_len = kLength;
  problem.has_sinks = has_sinks;
  problem.dim = kDim;
  problem.v_dim = kVDim;
  CHECK_OK(skipattn_plan_create(&problem, mask, options, &plan));
  return plan;
}

static void CompareStats(const Inputs* in, int term, const skipattn_plan* plan) {
  static CppStats want;
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  const char* text = NULL;
  size_t bytes = 0;
  CHECK(CppPlanStats(in, term, &want) == 0);
  CHECK_OK(skipattn_plan_get_stats(plan, &stats));
  CHECK(stats.struct_size == sizeof(stats));
  CHECK(stats.live_pairs == want.live_pairs && stats.dense_pairs == want.dense_pairs);
  CHECK(stats.empty_rows == want.empty_rows && stats.tiles == want.tiles);
  CHECK(stats.skipped_blocks == want.skipped_blocks && stats.full_blocks == want.full_blocks);
  CHECK(stats.partial_blocks == want.partial_blocks);
  CHECK(strcmp(stats.config, want.config) == 0 && strcmp(stats.target, want.target) == 0);
  CHECK_OK(skipattn_plan_describe(plan, &text));
  CHECK(text != NULL && strcmp(text, want.text) == 0);
  CHECK_OK(skipattn_plan_workspace_bytes(plan, 3, &bytes));
  CHECK(bytes == want.workspace_bytes && bytes > 0);
}

static void CompareTerm(const Inputs* in, int term) {
  static Outputs want, got;
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppAttention(in, term, 0, &want) == 0);
  skipattn_mask* mask = MaskOf(in, term);
  Run(in, mask, NULL, NULL, NULL, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);

  skipattn_plan* plan = PlanOf(in, mask, NULL, 0);
  skipattn_mask_free(mask);
  Run(in, NULL, NULL, plan, NULL, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  CompareStats(in, term, plan);
  skipattn_plan_free(plan);
}

static void CompareOptions(const Inputs* in) {
  static Outputs want, got;
  const int64_t origin = 0;
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_mask* mask = MaskOf(in, kJoined);
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppAttention(in, kJoined, 0.25, &want) == 0);
  options.has_scale = 1;
  options.scale = 0.25;
  options.threads = 1;
  options.backend = SKIPATTN_BACKEND_REFERENCE;
  options.key_origin = &origin;
  options.key_origin_count = 1;
  Run(in, mask, &options, NULL, NULL, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  skipattn_mask_free(mask);
}

static void CompareScores(const Inputs* in) {
  static Outputs want, got;
  const float sinks[kHeads] = {0.5f, -2.0f, 1.0f, 3.0f};
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_mask* mask = MaskOf(in, kQueryLengths);
  skipattn_plan* plan;
  memset(&want, 0xAA, sizeof(want));
  CHECK(CppScores(in, kQueryLengths, 0.75, sinks, &want) == 0);
  options.softcap = 0.75;
  Run(in, mask, &options, NULL, sinks, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  plan = PlanOf(in, mask, &options, 1);
  Run(in, NULL, NULL, plan, sinks, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  skipattn_plan_free(plan);

  memset(&want, 0xAA, sizeof(want));
  CHECK(CppEmptyRowsAreNan(in, kQueryLengths, &want) == 0);
  options.softcap = 0;
  options.empty_rows = SKIPATTN_EMPTY_ROWS_NAN;
  Run(in, mask, &options, NULL, NULL, &got);
  CHECK(memcmp(&got, &want, sizeof(got)) == 0);
  skipattn_mask_free(mask);
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
  in.batch = 1;
  CompareTerm(&in, kDocumentsFromBoundaries);
  CompareInfo();
  return Summary();
}
