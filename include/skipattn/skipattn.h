// The C interface: what attention.h offers, for C99 and for everything that can call C.
//
//   skipattn_mask* mask = NULL;
//   skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;  // then its q, k, v, out
//   skipattn_status status = skipattn_mask_causal(NULL, &mask);
//   if (status == SKIPATTN_OK) status = skipattn_attention(&args, mask, NULL);
//   if (status != SKIPATTN_OK) report(skipattn_last_error());
//   skipattn_mask_free(mask);
//
// Structs begin with their size, so that later versions can add fields at the end: start each from
// its _INIT macro and set fields by name. All zeros but for the size are the defaults. A library
// that is newer than the caller takes defaults for the fields that the caller does not know; one
// that is older refuses fields that it does not know unless they are 0.
//
// Functions give a status. Where it is SKIPATTN_INVALID_ARGUMENT nothing was written, and a handle
// that would have been given is NULL after any failure. No pointer may be NULL unless it says so.
// Structs and views are read during the call and may be changed or dropped after it.
//
// Handles are immutable: any number of threads may use one at the same time. Each has one owner,
// who frees it once; freeing one never invalidates another.
#ifndef SKIPATTN_SKIPATTN_H_
#define SKIPATTN_SKIPATTN_H_

#include <stddef.h>
#include <stdint.h>

#include "skipattn/version.h"

#ifdef __cplusplus
extern "C" {
#endif

// ------------------------------------------------------------------------------------------ errors

typedef int32_t skipattn_status;
enum {
  SKIPATTN_OK = 0,
  SKIPATTN_INVALID_ARGUMENT = 1,  ///< the message names it, what it was and what it should be
  SKIPATTN_OUT_OF_MEMORY = 2,
  SKIPATTN_INTERNAL = 3
};

/// The message of the last function that failed on the calling thread, "" if none has. Never NULL;
/// unchanged until the next failure on this thread.
SKIPATTN_API const char* skipattn_last_error(void);

// ----------------------------------------------------------------------------------------- tensors

/// Element types (int32_t).
enum {
  SKIPATTN_F32 = 0,
  SKIPATTN_BF16 = 1,
  SKIPATTN_F16 = 2,
  SKIPATTN_BOOL = 3,  ///< one byte, 0 or not 0
  SKIPATTN_I32 = 4,
  SKIPATTN_I64 = 5
};

/// A borrowed view of an array of up to four axes. Strides count elements, not bytes, and may be 0
/// (broadcast) or negative; `data` points at the element whose indices are all 0. It is written
/// through only where the tensor is an output. Rank 0 is "not given".
typedef struct skipattn_tensor {
  size_t struct_size;
  void* data;
  int32_t dtype;
  int32_t rank;
  int64_t shape[4];
  int64_t stride[4];
} skipattn_tensor;
#define SKIPATTN_TENSOR_INIT                                          \
  {                                                                   \
    sizeof(skipattn_tensor), NULL, 0, 0, {0, 0, 0, 0}, { 0, 0, 0, 0 } \
  }

/// Makes `tensor` (from SKIPATTN_TENSOR_INIT) a view of a contiguous array in C order. `shape` has
/// `rank` (1 to 4) sizes. The memory of an input may be const.
SKIPATTN_API skipattn_status skipattn_tensor_contiguous(skipattn_tensor* tensor, const void* data,
                                                        int32_t dtype, int32_t rank,
                                                        const int64_t* shape);

// ------------------------------------------------------------------------------------------- masks

/// Which keys a query row attends: a predicate over (batch b, query head h, query i, key j). True
/// means attend. A mask borrows the arrays (not the skipattn_tensor structs) given to its terms:
/// they must stay alive and unchanged until the last skipattn_plan_create or skipattn_attention
/// that uses it, or a mask joined from it, has returned. Sizes and values are checked there,
/// against the problem.
typedef struct skipattn_mask skipattn_mask;

/// NULL is allowed.
SKIPATTN_API void skipattn_mask_free(skipattn_mask* mask);

/// Every query attends every key.
SKIPATTN_API skipattn_status skipattn_mask_everything(skipattn_mask** mask);

/// Allowed where both are. The new mask needs neither `a` nor `b`, only their arrays.
///
/// This and the next two may be nested 200 deep. One thing depends on how a mask is written: where
/// its rows' chunks begin, and so the last bits of a result. That is the first key that any row
/// attends, with the causal, window and prefix_causal terms that are joined by `and` at the top
/// left out and all that is under `or` or `not` taken as it is. With the option key_origin all
/// forms have the same bits.
SKIPATTN_API skipattn_status skipattn_mask_and(const skipattn_mask* a, const skipattn_mask* b,
                                               skipattn_mask** mask);
/// Allowed where at least one is.
SKIPATTN_API skipattn_status skipattn_mask_or(const skipattn_mask* a, const skipattn_mask* b,
                                              skipattn_mask** mask);
/// Allowed where `a` is not.
SKIPATTN_API skipattn_status skipattn_mask_not(const skipattn_mask* a, skipattn_mask** mask);

/// Key padding: j < lengths[b]. `lengths`: [B] i32 or i64, each in [0, Tk].
SKIPATTN_API skipattn_status skipattn_mask_key_lengths(const skipattn_tensor* lengths,
                                                       skipattn_mask** mask);
/// begin[b] <= j < end[b]. [B] i32 or i64, each in [0, Tk]; begin > end allows nothing.
SKIPATTN_API skipattn_status skipattn_mask_key_range(const skipattn_tensor* begin,
                                                     const skipattn_tensor* end,
                                                     skipattn_mask** mask);
/// valid[b, j]. `valid`: [B, Tk] bool, any strides.
SKIPATTN_API skipattn_status skipattn_mask_key_valid(const skipattn_tensor* valid,
                                                     skipattn_mask** mask);

/// i < lengths[b]: a row beyond it has no allowed key. `lengths`: [B] in [0, Tq].
SKIPATTN_API skipattn_status skipattn_mask_query_lengths(const skipattn_tensor* lengths,
                                                         skipattn_mask** mask);
/// begin[b] <= i < end[b]. [B] in [0, Tq].
SKIPATTN_API skipattn_status skipattn_mask_query_range(const skipattn_tensor* begin,
                                                       const skipattn_tensor* end,
                                                       skipattn_mask** mask);
/// valid[b, i]. `valid`: [B, Tq] bool.
SKIPATTN_API skipattn_status skipattn_mask_query_valid(const skipattn_tensor* valid,
                                                       skipattn_mask** mask);

/// valid[b, i] and valid[b, j], for self-attention (Tq = Tk). `valid`: [B, T] bool.
SKIPATTN_API skipattn_status skipattn_mask_padding(const skipattn_tensor* valid,
                                                   skipattn_mask** mask);

/// Alignments of a diagonal (int32_t).
enum {
  SKIPATTN_ALIGN_NONE = 0,
  SKIPATTN_ALIGN_TOP_LEFT = 1,     ///< offset 0: query 0 stands at key 0
  SKIPATTN_ALIGN_BOTTOM_RIGHT = 2  ///< offset Tk - Tq: the last query stands at the last key
};

/// Which key a query stands at: key i + offset for query i. At most one of the three ways may be
/// given; if Tq != Tk, one must be.
typedef struct skipattn_diagonal {
  size_t struct_size;
  int32_t align;
  int32_t has_offset;              ///< not 0: `offset` is given
  int64_t offset;                  ///< for every batch entry; may be negative
  const skipattn_tensor* offsets;  ///< NULL, or one per batch entry: [B] i32 or i64
} skipattn_diagonal;
#define SKIPATTN_DIAGONAL_INIT \
  { sizeof(skipattn_diagonal), 0, 0, 0, NULL }

/// j <= i + offset. `diagonal` may be NULL: nothing given.
SKIPATTN_API skipattn_status skipattn_mask_causal(const skipattn_diagonal* diagonal,
                                                  skipattn_mask** mask);
/// i + offset - left <= j <= i + offset + right, both ends included. -1 = no limit on that side.
/// `diagonal` may be NULL: nothing given.
SKIPATTN_API skipattn_status skipattn_mask_window(int64_t left, int64_t right,
                                                  const skipattn_diagonal* diagonal,
                                                  skipattn_mask** mask);

/// j < prefix[b] or j <= i + offset: a prefix that all rows see, causal after it. `prefix`: [B] i32
/// or i64, each in [0, Tk]. `diagonal` may be NULL: nothing given.
SKIPATTN_API skipattn_status skipattn_mask_prefix_causal(const skipattn_tensor* prefix,
                                                         const skipattn_diagonal* diagonal,
                                                         skipattn_mask** mask);

/// q_ids[b, i] = k_ids[b, j], and neither is negative. [B, Tq] and [B, Tk], i32 or i64.
SKIPATTN_API skipattn_status skipattn_mask_documents(const skipattn_tensor* q_ids,
                                                     const skipattn_tensor* k_ids,
                                                     skipattn_mask** mask);
/// The same from boundaries: document n holds queries [cu_seqlens_q[n], cu_seqlens_q[n + 1]) and
/// keys likewise. Needs B = 1; both arrays rise from 0, to Tq and Tk.
SKIPATTN_API skipattn_status skipattn_mask_documents_from_boundaries(
    const skipattn_tensor* cu_seqlens_q, const skipattn_tensor* cu_seqlens_k, skipattn_mask** mask);

/// The element itself. `values`: bool, any strides. `axes` names its axes, a subset of "bhqk" in
/// that order, for example "bk" for key padding or "qk"; it may be NULL for rank 4. An axis of size
/// 1 broadcasts. `h` counts query heads.
SKIPATTN_API skipattn_status skipattn_mask_dense(const skipattn_tensor* values, const char* axes,
                                                 skipattn_mask** mask);

/// The element of block (i / block_q, j / block_k). `values` and `axes` as of skipattn_mask_dense,
/// but the axes q and k count blocks: ceil(Tq / block_q) and ceil(Tk / block_k), or 1.
SKIPATTN_API skipattn_status skipattn_mask_blocks(const skipattn_tensor* values, const char* axes,
                                                  int64_t block_q, int64_t block_k,
                                                  skipattn_mask** mask);

/// Whether query i of query head h attends key j in batch entry b: not 0 = it does. Must give the
/// same answer each time; must neither throw nor jump out.
typedef int (*skipattn_predicate)(void* context, int64_t b, int64_t h, int64_t i, int64_t j);

/// f(context, b, h, i, j). Called in skipattn_plan_create and skipattn_attention only, before
/// anything is computed, on the calling thread, for any pair any number of times and in any order;
/// it may be called for every pair of every head, so a term or an array is far cheaper. `context`
/// is borrowed as an array is, and may be NULL.
SKIPATTN_API skipattn_status skipattn_mask_function(skipattn_predicate f, void* context,
                                                    skipattn_mask** mask);

// ------------------------------------------------------------------------------------------ biases

/// A number for each (batch b, query head h, query i, key j) that is added to the score after the
/// softcap. -inf masks the pair as a mask does, +inf makes the row NaN. A bias borrows its arrays
/// as a mask does. Slopes and tables then belong to the plan; the values of a dense bias are the
/// runs', and what a plan may take from it is where it masks.
typedef struct skipattn_bias skipattn_bias;

/// NULL is allowed.
SKIPATTN_API void skipattn_bias_free(skipattn_bias* bias);

/// The element itself. `values`: f32, any strides; `axes` as of skipattn_mask_dense.
SKIPATTN_API skipattn_status skipattn_bias_dense(const skipattn_tensor* values, const char* axes,
                                                 skipattn_bias** bias);

/// -slopes[h] * |i + offset - j|. `slopes`: f32 [heads]. `diagonal` may be NULL: nothing given.
SKIPATTN_API skipattn_status skipattn_bias_alibi(const skipattn_tensor* slopes,
                                                 const skipattn_diagonal* diagonal,
                                                 skipattn_bias** bias);

/// table[h, j - i - offset + R / 2], R / 2 rounded down, an index beyond the table being its first
/// or last. `table`: f32 [heads, R]. `diagonal` may be NULL: nothing given.
SKIPATTN_API skipattn_status skipattn_bias_relative(const skipattn_tensor* table,
                                                    const skipattn_diagonal* diagonal,
                                                    skipattn_bias** bias);

// ----------------------------------------------------------------------------- problem and options

/// Sizes and types. `batch`, `q_len` and `k_len` may be 0, the others may not. Query head h reads
/// key head h / (heads / kv_heads), so `kv_heads` divides `heads`.
typedef struct skipattn_problem {
  size_t struct_size;
  int64_t batch;
  int64_t heads;
  int64_t kv_heads;
  int64_t q_len;
  int64_t k_len;
  int64_t dim;    ///< of q and k
  int64_t v_dim;  ///< of v and out
  int32_t q_dtype;
  int32_t kv_dtype;
  int32_t out_dtype;
  int32_t has_sinks;  ///< not 0: every run brings sinks
  int32_t has_bias;   ///< not 0: every run brings a dense bias, also if the options have none
  int32_t reserved;   ///< 0
} skipattn_problem;
#define SKIPATTN_PROBLEM_INIT \
  { sizeof(skipattn_problem), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/// What a query row without a key to attend gives; its lse is -inf in any case (int32_t). With a
/// sink (other than -inf) no row is empty: such a row gives 0 and the lse of the sink alone.
enum {
  SKIPATTN_EMPTY_ROWS_ZERO = 0,
  SKIPATTN_EMPTY_ROWS_KEEP = 1,     ///< out stays as it was
  SKIPATTN_EMPTY_ROWS_UNIFORM = 2,  ///< the mean of v over all keys, masked ones included
  SKIPATTN_EMPTY_ROWS_NAN = 3
};

/// Which arithmetic (int32_t).
enum { SKIPATTN_PRECISION_EXACT = 0 /* defined to the last bit */ };

/// Who computes (int32_t).
enum {
  SKIPATTN_BACKEND_AUTO = 0,      ///< the kernels of the best (or the chosen) target
  SKIPATTN_BACKEND_REFERENCE = 1  ///< plain scalar loops: the definition, same bits, slow
};

/// Whether masked keys are left out (int32_t). OFF computes and then selects them away, with the
/// same bits: for checking and measuring. It reads masked k and v.
enum { SKIPATTN_SKIPPING_ON = 0, SKIPATTN_SKIPPING_OFF = 1 };

typedef void (*skipattn_work)(void* argument, int worker);

/// A caller's own threads instead of OpenMP's: must call work(argument, w) exactly once for each w
/// in [0, workers), from as many threads as it likes, and return when all calls have returned. It
/// must neither throw nor jump out.
typedef void (*skipattn_parallel_for)(void* context, int workers, skipattn_work work,
                                      void* argument);

/// A caller's own scratch memory: at least `bytes` bytes, aligned to `alignment` (64), or NULL if
/// there is none. Called on the thread that begins a run; neither may throw or jump out.
typedef void* (*skipattn_allocate)(void* context, size_t bytes, size_t alignment);
/// Takes back what `allocate` gave, with the same `bytes`.
typedef void (*skipattn_deallocate)(void* context, void* memory, size_t bytes);

/// Everything about a plan that is neither a size nor the mask.
typedef struct skipattn_options {
  size_t struct_size;
  double scale;  ///< factor of q . k where `has_scale` is not 0, else 1 / sqrt(dim)
  int32_t has_scale;
  int32_t empty_rows;
  int32_t precision;
  int32_t backend;
  int32_t skipping;
  int32_t threads;  ///< of a run; 0 = all that the process may use
  /// Where the grid of 128-key chunks begins: none (found from the mask), one value, or one per
  /// batch entry. Any integers; only their value mod 128 counts.
  const int64_t* key_origin;
  size_t key_origin_count;
  const char* target;  ///< instruction set, a name of skipattn_target_get; NULL or "" = the best
  const char* config;  ///< tile configuration, a name of skipattn_config_get; NULL or "" = default
  skipattn_parallel_for parallel_for;  ///< NULL = OpenMP
  void* parallel_for_context;
  /// Both or neither. Where they are given, each run takes its scratch, of
  /// skipattn_plan_workspace_bytes, from them and gives it back, unless it brings a workspace; the
  /// library then keeps none per thread. Handles are the library's own memory in any case.
  skipattn_allocate allocate;
  skipattn_deallocate deallocate;
  void* allocator_context;
  double softcap;  ///< c: a score s becomes c * tanh(s / c); 0 = no cap
  /// NULL, or a bias; the plan needs neither it nor its arrays afterwards. A dense one stands for
  /// those that the runs will bring: where it masks (by -inf, or by values up to -1e30 in a row
  /// that attends another key), the plan skips. One that is 0 wherever it does not mask may be left
  /// out of the runs (skipattn_stats.needs_bias).
  const skipattn_bias* bias;
  int32_t bias_not_mask;  ///< not 0: a dense bias is not looked at for what it masks
  int32_t reserved;       ///< 0
} skipattn_options;
#define SKIPATTN_OPTIONS_INIT                                                                   \
  {                                                                                             \
    sizeof(skipattn_options), 0, 0, 0, 0, 0, 0, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, 0, NULL, 0, 0                                                                     \
  }

// --------------------------------------------------------------------------------------- attention

/// The state of a fold over keys, f32: what the weights so far are relative to (a power of two, as
/// its exponent), their sum, and the sum of the weighted values.
typedef struct skipattn_carry {
  size_t struct_size;
  const skipattn_tensor* max;  ///< [B, heads, q_len]
  const skipattn_tensor* sum;  ///< [B, heads, q_len]
  const skipattn_tensor* out;  ///< [B, heads, q_len, v_dim]; its last stride must be 1
} skipattn_carry;
#define SKIPATTN_CARRY_INIT \
  { sizeof(skipattn_carry), NULL, NULL, NULL }

/// What differs from run to run. Tensors are addressed {batch, head, position, dim} in any strides,
/// but the last stride must be 1 (where that axis is longer than 1).
typedef struct skipattn_run_args {
  size_t struct_size;
  const skipattn_tensor* q;    ///< [B, heads, q_len, dim]
  const skipattn_tensor* k;    ///< [B, kv_heads, k_len, dim]
  const skipattn_tensor* v;    ///< [B, kv_heads, k_len, v_dim]
  const skipattn_tensor* out;  ///< [B, heads, q_len, v_dim]; must not overlap an input or itself
  const skipattn_tensor* lse;  ///< NULL, or f32 [B, heads, q_len]: natural log of sum exp(score)
  /// NULL (and 0 bytes), or scratch of skipattn_plan_workspace_bytes, aligned to 64, that no other
  /// run uses at the same time.
  void* workspace;
  size_t workspace_bytes;
  int32_t threads;   ///< of this run; 0 = the plan's
  int32_t reserved;  ///< 0
  /// NULL, or one logit per query head, f32 [heads]: exp(sink) joins the sum of exp(score), in lse
  /// too, and has no value. At most 1e30, not NaN; -inf = none for that head.
  const skipattn_tensor* sinks;
  /// NULL, or the values of a dense bias: f32 with the four axes {batch, head, query, key}, any of
  /// them of size 1 to broadcast, any strides.
  const skipattn_tensor* bias;
  /// Attention over keys that come in parts, one run for each, with the bits of a single run: all
  /// but the last leave their state in `carry_out` (`out` and `lse` are not given then), all but
  /// the first begin with it as `carry_in`; else NULL. Parts must meet at a boundary of the chunk
  /// grid: the key_origin of each part is that of the whole less the number of keys before.
  /// `carry_out` may be `carry_in` itself. Sinks join in the last run.
  const skipattn_carry* carry_in;
  const skipattn_carry* carry_out;
} skipattn_run_args;
#define SKIPATTN_RUN_ARGS_INIT \
  { sizeof(skipattn_run_args), NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, NULL, NULL, NULL, NULL }

/// One shot: a plan with the sizes of `args`, one run, and away. To use a mask more than once
/// (heads are included in a run; layers and steps are not), make a plan. `options` may be NULL. A
/// dense bias is given in `args` or in `options`, not in both; either way it masks as well.
SKIPATTN_API skipattn_status skipattn_attention(const skipattn_run_args* args,
                                                const skipattn_mask* mask,
                                                const skipattn_options* options);

/// A mask compiled for a problem, made once and run many times.
typedef struct skipattn_plan skipattn_plan;

/// Checks everything. The plan owns all that it needs: neither the mask and its arrays nor any
/// pointer of `options` is needed afterwards, but for the contexts of its functions. `options` may
/// be NULL.
SKIPATTN_API skipattn_status skipattn_plan_create(const skipattn_problem* problem,
                                                  const skipattn_mask* mask,
                                                  const skipattn_options* options,
                                                  skipattn_plan** plan);

/// NULL is allowed. No run of the plan may be under way.
SKIPATTN_API void skipattn_plan_free(skipattn_plan* plan);

/// Computes. Checks every argument first and writes nothing if one is wrong. The library allocates
/// nothing after the first run on a thread (or ever, with a workspace or an allocator).
SKIPATTN_API skipattn_status skipattn_plan_run(const skipattn_plan* plan,
                                               const skipattn_run_args* args);

/// Bytes that `workspace` must have for a run with so many threads (0 = the plan's).
SKIPATTN_API skipattn_status skipattn_plan_workspace_bytes(const skipattn_plan* plan,
                                                           int32_t threads, size_t* bytes);

/// What a plan will do. A block is the part of a tile of query rows that meets one 128-key chunk.
typedef struct skipattn_stats {
  size_t struct_size;
  int64_t live_pairs;   ///< (query, key) pairs that the mask allows, over all heads
  int64_t dense_pairs;  ///< batch * heads * q_len * k_len
  int64_t empty_rows;   ///< query rows without a key, over all heads
  int64_t tiles;
  int64_t skipped_blocks;  ///< no row of the tile attends a key of the chunk
  int64_t full_blocks;     ///< no mask is looked at: every row attends every key that is read
  int64_t partial_blocks;
  const char* config;  ///< both lie in the library and stay there
  const char* target;
  int32_t needs_bias;  ///< 1: runs must bring a dense bias; 0 also where all that it does is mask
  int32_t reserved;    ///< 0
} skipattn_stats;
#define SKIPATTN_STATS_INIT \
  { sizeof(skipattn_stats), 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0 }

/// Fills `stats` (from SKIPATTN_STATS_INIT). Fields that the library does not know become 0.
SKIPATTN_API skipattn_status skipattn_plan_get_stats(const skipattn_plan* plan,
                                                     skipattn_stats* stats);

/// The plan for people: sizes, shares, configuration and a small picture of the mask, in lines. The
/// text belongs to the plan and lives as long.
SKIPATTN_API skipattn_status skipattn_plan_describe(const skipattn_plan* plan, const char** text);

/// Results of the same queries over keys a and keys b, and room for the joint ones. f32, any
/// strides but for the last one of the outs, which must be 1.
typedef struct skipattn_merge_args {
  size_t struct_size;
  const skipattn_tensor* out_a;  ///< [B, heads, q_len, v_dim]
  const skipattn_tensor* lse_a;  ///< [B, heads, q_len]
  const skipattn_tensor* out_b;
  const skipattn_tensor* lse_b;
  const skipattn_tensor* out;  ///< may be out_a or out_b itself
  const skipattn_tensor* lse;  ///< may be lse_a or lse_b itself
} skipattn_merge_args;
#define SKIPATTN_MERGE_ARGS_INIT \
  { sizeof(skipattn_merge_args), NULL, NULL, NULL, NULL, NULL, NULL }

/// Attention over both key sets from the results of each, within 16 * 2^-24 of the exact value. A
/// side whose lse is -inf has no keys: its out is not looked at. A sink belongs to one side only.
/// Runs on the calling thread and allocates nothing. For the bits of a single run see carry_in.
SKIPATTN_API skipattn_status skipattn_merge(const skipattn_merge_args* args);

// -------------------------------------------------------------------- what the library can do here

/// "major.minor.patch" of the library that runs; SKIPATTN_VERSION_MAJOR and so on are the header's.
SKIPATTN_API const char* skipattn_version(void);

/// The version of the exact arithmetic. Two libraries with the same number give the same bits for
/// the same problem, on every target with a native fma.
SKIPATTN_API int skipattn_arithmetic_version(void);

/// 1 where the library has the feature, 0 where it has not, does not know the name, or it is NULL:
///   "openmp"  runs may use OpenMP threads; without, one thread or a parallel_for
///   "exact"   the best target of this CPU has a native fma: the bits of the exact arithmetic
///   "f32"     and other element types, by their names: q, k, v and out may have it
SKIPATTN_API int skipattn_has_feature(const char* name);

/// Threads that this process may use: its affinity and its container's quota.
SKIPATTN_API skipattn_status skipattn_available_threads(int32_t* threads);

/// An instruction set that the library was compiled for.
typedef struct skipattn_target_info {
  size_t struct_size;
  const char* name;   ///< "SSE2", "AVX2", "AVX3", "NEON", "SVE", ...; lies in the library
  int32_t supported;  ///< 1: this CPU can run it
  int32_t exact;      ///< 1: has a native fma, so gives the bits of the exact arithmetic
  int32_t lanes;      ///< f32 lanes of a vector; 0 where not supported
  int32_t reserved;   ///< 0
} skipattn_target_info;
#define SKIPATTN_TARGET_INFO_INIT \
  { sizeof(skipattn_target_info), NULL, 0, 0, 0, 0 }

/// How many there are, and the one at `index`, best first. Fields that the library does not know
/// become 0.
SKIPATTN_API skipattn_status skipattn_target_count(size_t* count);
SKIPATTN_API skipattn_status skipattn_target_get(size_t index, skipattn_target_info* info);

/// The target that a plan uses when none is asked for; its name lies in the library.
SKIPATTN_API skipattn_status skipattn_best_target(const char** name);

/// How many tile configurations a target (NULL or "" = the best) has, and the name of the one at
/// `index`, the default first. The name lies in the library. An unknown target is an error that
/// lists the known ones.
SKIPATTN_API skipattn_status skipattn_config_count(const char* target, size_t* count);
SKIPATTN_API skipattn_status skipattn_config_get(const char* target, size_t index,
                                                 const char** name);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // SKIPATTN_SKIPATTN_H_
