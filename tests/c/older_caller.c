// A caller that was compiled when the structs were smaller: it knows only the declarations below,
// and bytes that are no part of a struct follow each of them.
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct skipattn_mask skipattn_mask;
typedef struct skipattn_plan skipattn_plan;
typedef struct {
  size_t struct_size;
  void* data;
  int32_t dtype, rank;
  int64_t shape[4], stride[4];
} skipattn_tensor;
typedef struct {
  size_t struct_size;
  int32_t align, has_offset;
} skipattn_diagonal;
typedef struct {
  size_t struct_size;
  int64_t batch, heads, kv_heads, q_len, k_len, dim, v_dim;
} skipattn_problem;
typedef struct {
  size_t struct_size;
  double scale;
  int32_t has_scale, empty_rows;
} skipattn_options;
typedef struct {
  size_t struct_size;
  const skipattn_tensor *q, *k, *v, *out;
} skipattn_run_args;
typedef struct {
  size_t struct_size;
  int64_t live_pairs, dense_pairs;
} skipattn_stats;
typedef struct {
  size_t struct_size;
  const char* name;
} skipattn_target_info;

int32_t skipattn_tensor_contiguous(skipattn_tensor*, const void*, int32_t, int32_t, const int64_t*);
int32_t skipattn_mask_causal(const skipattn_diagonal*, skipattn_mask**);
void skipattn_mask_free(skipattn_mask*);
int32_t skipattn_attention(const skipattn_run_args*, const skipattn_mask*, const skipattn_options*);
int32_t skipattn_plan_create(const skipattn_problem*, const skipattn_mask*, const skipattn_options*,
                             skipattn_plan**);
void skipattn_plan_free(skipattn_plan*);
int32_t skipattn_plan_run(const skipattn_plan*, const skipattn_run_args*);
int32_t skipattn_plan_get_stats(const skipattn_plan*, skipattn_stats*);
int32_t skipattn_target_get(size_t, skipattn_target_info*);
const char* skipattn_last_error(void);
#define SKIPATTN_OK 0

#include "tests/c/check.h"

enum { kQueries = 3, kKeys = 5, kDim = 2, kAfter = 256 };

// A struct and, right behind it, what the library has no business with: 0xFF, which would be a
// wrong value of every field that it might take it for.
#define WITH_AFTER(type)         \
  static struct {                \
    type given;                  \
    unsigned char after[kAfter]; \
  }
#define BEGIN(name)                               \
  memset(&(name), 0xFF, sizeof(name));            \
  memset(&(name).given, 0, sizeof((name).given)); \
  (name).given.struct_size = sizeof((name).given)

static int Untouched(const unsigned char* after) {
  for (int n = 0; n < kAfter; ++n) {
    if (after[n] != 0xFF) return 0;
  }
  return 1;
}

// out[i] for equal scores: the mean of the v that a bottom-right causal mask leaves.
static void CheckMeans(const float* out, const float* v) {
  for (int i = 0; i < kQueries; ++i) {
    for (int d = 0; d < kDim; ++d) {
      float sum = 0;
      for (int j = 0; j <= i + kKeys - kQueries; ++j) sum += v[j * kDim + d];
      CHECK(fabsf(out[i * kDim + d] - sum / (float)(i + kKeys - kQueries + 1)) < 1e-5f);
    }
  }
}

int main(void) {
  WITH_AFTER(skipattn_tensor) q, k, v, out;
  WITH_AFTER(skipattn_diagonal) diagonal;
  WITH_AFTER(skipattn_problem) problem;
  WITH_AFTER(skipattn_options) options;
  WITH_AFTER(skipattn_run_args) args;
  WITH_AFTER(skipattn_stats) stats;
  WITH_AFTER(skipattn_target_info) info;
  static float queries[kQueries * kDim], keys[kKeys * kDim], values[kKeys * kDim];
  static float result[kQueries * kDim];
  const int64_t q_shape[4] = {1, 1, kQueries, kDim}, k_shape[4] = {1, 1, kKeys, kDim};
  skipattn_mask* mask = NULL;
  skipattn_plan* plan = NULL;

  for (int n = 0; n < kKeys * kDim; ++n) {
    keys[n] = (float)n;
    values[n] = (float)(n * n);
  }
  for (int n = 0; n < kQueries * kDim; ++n) queries[n] = (float)(5 - n);
  BEGIN(q);
  BEGIN(k);
  BEGIN(v);
  BEGIN(out);
  CHECK(skipattn_tensor_contiguous(&q.given, queries, 0, 4, q_shape) == 0);
  CHECK(skipattn_tensor_contiguous(&k.given, keys, 0, 4, k_shape) == 0);
  CHECK(skipattn_tensor_contiguous(&v.given, values, 0, 4, k_shape) == 0);
  CHECK(skipattn_tensor_contiguous(&out.given, result, 0, 4, q_shape) == 0);
  BEGIN(diagonal);
  diagonal.given.align = 2;  // bottom right; the offsets that would follow are none
  CHECK(skipattn_mask_causal(&diagonal.given, &mask) == 0);
  BEGIN(options);
  options.given.has_scale =
      1;  // 0: all scores are equal. Threads, functions and all else: defaults
  BEGIN(args);
  args.given.q = &q.given;
  args.given.k = &k.given;
  args.given.v = &v.given;
  args.given.out = &out.given;
  CHECK(skipattn_attention(&args.given, mask, &options.given) == 0);
  CheckMeans(result, values);

  BEGIN(problem);
  problem.given.batch = problem.given.heads = problem.given.kv_heads = 1;
  problem.given.q_len = kQueries;
  problem.given.k_len = kKeys;
  problem.given.dim = problem.given.v_dim = kDim;
  CHECK(skipattn_plan_create(&problem.given, mask, &options.given, &plan) == 0);
  memset(result, 0, sizeof(result));
  CHECK(skipattn_plan_run(plan, &args.given) == 0);
  CheckMeans(result, values);

  BEGIN(stats);
  CHECK(skipattn_plan_get_stats(plan, &stats.given) == 0);
  CHECK(stats.given.struct_size == sizeof(stats.given));
  CHECK(stats.given.live_pairs == 3 + 4 + 5 && stats.given.dense_pairs == kQueries * kKeys);
  CHECK(Untouched(stats.after));
  BEGIN(info);
  CHECK(skipattn_target_get(0, &info.given) == 0);
  CHECK(info.given.name != NULL && info.given.name[0] != '\0');
  CHECK(Untouched(info.after));
  CHECK(Untouched(q.after) && Untouched(out.after));

  skipattn_mask_free(mask);
  skipattn_plan_free(plan);
  return Summary();
}
