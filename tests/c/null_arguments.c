// Every function of the C interface with a null pointer in each place: an error that names it, and
// nothing else happens.
#include <string.h>

#include "skipattn/skipattn.h"
#include "tests/c/check.h"

// A failure whose message begins with `name`, " is a null pointer, expected ".
static int Names(skipattn_status status, const char* name) {
  const char* error = skipattn_last_error();
  const size_t length = strlen(name);
  const char* rest = " is a null pointer, expected ";
  return status == SKIPATTN_INVALID_ARGUMENT && strncmp(error, name, length) == 0 &&
         strncmp(error + length, rest, strlen(rest)) == 0;
}
#define CHECK_NAMES(name, call) CHECK(Names(call, name))
// The handle must have become null as well.
#define CHECK_NO_MASK(name, call) CHECK((mask = any, Names(call, name)) && mask == NULL)

#define CHECK_NO_BIAS(name, call) CHECK((bias = some, Names(call, name)) && bias == NULL)

static int Yes(void* context, int64_t b, int64_t h, int64_t i, int64_t j) {
  return context == NULL || b + h + i + j >= 0;
}

int main(void) {
  const int64_t shape[1] = {1};
  int64_t length = 1;
  skipattn_tensor tensor = SKIPATTN_TENSOR_INIT;
  skipattn_problem problem = SKIPATTN_PROBLEM_INIT;
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  skipattn_mask *any = NULL, *mask = NULL;
  skipattn_plan *plan = NULL, *other = NULL;
  skipattn_bias *some = NULL, *bias = NULL;
  skipattn_merge_args merge = SKIPATTN_MERGE_ARGS_INIT;
  size_t bytes = 0;

  CHECK_NAMES("tensor", skipattn_tensor_contiguous(NULL, &length, SKIPATTN_I64, 1, shape));
  CHECK_NAMES("shape", skipattn_tensor_contiguous(&tensor, &length, SKIPATTN_I64, 1, NULL));
  CHECK_OK(skipattn_tensor_contiguous(&tensor, &length, SKIPATTN_I64, 1, shape));

  skipattn_mask_free(NULL);
  CHECK_NAMES("mask", skipattn_mask_everything(NULL));
  CHECK_OK(skipattn_mask_everything(&any));
  CHECK_NO_MASK("a", skipattn_mask_and(NULL, any, &mask));
  CHECK_NO_MASK("b", skipattn_mask_and(any, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_and(any, any, NULL));
  CHECK_NO_MASK("a", skipattn_mask_or(NULL, any, &mask));
  CHECK_NO_MASK("b", skipattn_mask_or(any, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_or(any, any, NULL));
  CHECK_NO_MASK("a", skipattn_mask_not(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_not(any, NULL));
  CHECK_NO_MASK("lengths", skipattn_mask_key_lengths(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_key_lengths(&tensor, NULL));
  CHECK_NO_MASK("begin", skipattn_mask_key_range(NULL, &tensor, &mask));
  CHECK_NO_MASK("end", skipattn_mask_key_range(&tensor, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_key_range(&tensor, &tensor, NULL));
  CHECK_NO_MASK("valid", skipattn_mask_key_valid(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_key_valid(&tensor, NULL));
  CHECK_NO_MASK("lengths", skipattn_mask_query_lengths(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_query_lengths(&tensor, NULL));
  CHECK_NO_MASK("begin", skipattn_mask_query_range(NULL, &tensor, &mask));
  CHECK_NO_MASK("end", skipattn_mask_query_range(&tensor, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_query_range(&tensor, &tensor, NULL));
  CHECK_NO_MASK("valid", skipattn_mask_query_valid(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_query_valid(&tensor, NULL));
  CHECK_NO_MASK("valid", skipattn_mask_padding(NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_padding(&tensor, NULL));
  CHECK_NAMES("mask", skipattn_mask_causal(NULL, NULL));
  CHECK_NAMES("mask", skipattn_mask_window(1, 1, NULL, NULL));
  CHECK_NO_MASK("prefix", skipattn_mask_prefix_causal(NULL, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_prefix_causal(&tensor, NULL, NULL));
  CHECK_NO_MASK("q_ids", skipattn_mask_documents(NULL, &tensor, &mask));
  CHECK_NO_MASK("k_ids", skipattn_mask_documents(&tensor, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_documents(&tensor, &tensor, NULL));
  CHECK_NO_MASK("cu_seqlens_q", skipattn_mask_documents_from_boundaries(NULL, &tensor, &mask));
  CHECK_NO_MASK("cu_seqlens_k", skipattn_mask_documents_from_boundaries(&tensor, NULL, &mask));
  CHECK_NAMES("mask", skipattn_mask_documents_from_boundaries(&tensor, &tensor, NULL));
  CHECK_NO_MASK("values", skipattn_mask_dense(NULL, "qk", &mask));
  CHECK_NAMES("mask", skipattn_mask_dense(&tensor, "qk", NULL));
  CHECK_NO_MASK("values", skipattn_mask_blocks(NULL, "qk", 1, 1, &mask));
  CHECK_NAMES("mask", skipattn_mask_blocks(&tensor, "qk", 1, 1, NULL));
  CHECK_NO_MASK("f", skipattn_mask_function(NULL, &tensor, &mask));
  CHECK_NAMES("mask", skipattn_mask_function(Yes, NULL, NULL));

  skipattn_bias_free(NULL);
  CHECK_OK(skipattn_bias_alibi(&tensor, NULL, &some));
  CHECK_NO_BIAS("values", skipattn_bias_dense(NULL, "qk", &bias));
  CHECK_NAMES("bias", skipattn_bias_dense(&tensor, "qk", NULL));
  CHECK_NO_BIAS("slopes", skipattn_bias_alibi(NULL, NULL, &bias));
  CHECK_NAMES("bias", skipattn_bias_alibi(&tensor, NULL, NULL));
  CHECK_NO_BIAS("table", skipattn_bias_relative(NULL, NULL, &bias));
  CHECK_NAMES("bias", skipattn_bias_relative(&tensor, NULL, NULL));
  CHECK_NAMES("args", skipattn_merge(NULL));
  CHECK(skipattn_merge(&merge) == SKIPATTN_INVALID_ARGUMENT);
  CHECK(strncmp(skipattn_last_error(), "out_a: rank is 0", 16) == 0);

  // A mask that could not be made must not become "no mask".
  problem.batch = problem.heads = problem.kv_heads = problem.dim = problem.v_dim = 1;
  CHECK_NAMES("problem", skipattn_plan_create(NULL, any, NULL, &plan));
  CHECK_NAMES("mask", skipattn_plan_create(&problem, NULL, NULL, &plan));
  CHECK_NAMES("plan", skipattn_plan_create(&problem, any, NULL, NULL));
  CHECK_OK(skipattn_plan_create(&problem, any, NULL, &plan));
  other = plan;
  CHECK(skipattn_plan_create(&problem, NULL, NULL, &other) != SKIPATTN_OK && other == NULL);
  skipattn_plan_free(NULL);
  CHECK_NAMES("plan", skipattn_plan_run(NULL, &args));
  CHECK_NAMES("args", skipattn_plan_run(plan, NULL));
  CHECK_NAMES("args", skipattn_attention(NULL, any, NULL));
  CHECK_NAMES("plan", skipattn_plan_workspace_bytes(NULL, 0, &bytes));
  CHECK_NAMES("bytes", skipattn_plan_workspace_bytes(plan, 0, NULL));
  CHECK_NAMES("plan", skipattn_plan_get_stats(NULL, &stats));
  CHECK_NAMES("stats", skipattn_plan_get_stats(plan, NULL));
  CHECK_NAMES("plan", skipattn_plan_describe(NULL, &(const char*){NULL}));
  CHECK_NAMES("text", skipattn_plan_describe(plan, NULL));

  // Tensors of a run that are not given.
  CHECK(skipattn_plan_run(plan, &args) == SKIPATTN_INVALID_ARGUMENT);
  CHECK(strncmp(skipattn_last_error(), "q is not given", 14) == 0);
  CHECK(skipattn_attention(&args, any, NULL) == SKIPATTN_INVALID_ARGUMENT);

  CHECK(skipattn_has_feature(NULL) == 0);
  CHECK(skipattn_version() != NULL && skipattn_arithmetic_version() > 0);  // nothing to be null
  CHECK_NAMES("threads", skipattn_available_threads(NULL));
  CHECK_NAMES("count", skipattn_target_count(NULL));
  CHECK_NAMES("info", skipattn_target_get(0, NULL));
  CHECK_NAMES("name", skipattn_best_target(NULL));
  CHECK_NAMES("count", skipattn_config_count(NULL, NULL));
  CHECK_NAMES("name", skipattn_config_get(NULL, 0, NULL));
  skipattn_mask_free(any);
  skipattn_bias_free(some);
  skipattn_plan_free(plan);
  return Summary();
}
