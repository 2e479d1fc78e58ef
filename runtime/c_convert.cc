// The C interface's structs as C++ types; see c_convert.h.
#include "runtime/c_convert.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "runtime/c_error.h"
#include "runtime/c_struct.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using std::to_string;

// Enumerations have the same numbers on both sides.
#define SKIPATTN_SAME(c, cpp) static_assert(static_cast<int>(cpp) == (c), "one numbering")
SKIPATTN_SAME(SKIPATTN_F32, DType::kF32);
SKIPATTN_SAME(SKIPATTN_BF16, DType::kBF16);
SKIPATTN_SAME(SKIPATTN_F16, DType::kF16);
SKIPATTN_SAME(SKIPATTN_BOOL, DType::kBool);
SKIPATTN_SAME(SKIPATTN_I32, DType::kI32);
SKIPATTN_SAME(SKIPATTN_I64, DType::kI64);
SKIPATTN_SAME(SKIPATTN_EMPTY_ROWS_ZERO, EmptyRows::kZero);
SKIPATTN_SAME(SKIPATTN_EMPTY_ROWS_KEEP, EmptyRows::kKeep);
SKIPATTN_SAME(SKIPATTN_EMPTY_ROWS_UNIFORM, EmptyRows::kUniform);
SKIPATTN_SAME(SKIPATTN_EMPTY_ROWS_NAN, EmptyRows::kNan);
SKIPATTN_SAME(SKIPATTN_PRECISION_EXACT, Precision::kExact);
SKIPATTN_SAME(SKIPATTN_BACKEND_AUTO, Backend::kAuto);
SKIPATTN_SAME(SKIPATTN_BACKEND_REFERENCE, Backend::kReference);
SKIPATTN_SAME(SKIPATTN_SKIPPING_ON, Skipping::kOn);
SKIPATTN_SAME(SKIPATTN_SKIPPING_OFF, Skipping::kOff);
#undef SKIPATTN_SAME

Status Bad(const std::string& what, const std::string& is, const std::string& expected) {
  return Status::InvalidArgument(what + " is " + is + ", expected " + expected);
}

/// A number that the enumeration has room for; whether it has such a value is checked with all
/// else.
template <typename Enum>
Status ReadEnum(const char* name, int32_t given, const char* constants, Enum* value) {
  if (given < 0 || given > std::numeric_limits<std::underlying_type_t<Enum>>::max()) {
    return Bad(name, to_string(given), std::string("a value of ") + constants);
  }
  *value = static_cast<Enum>(given);
  return {};
}

/// A tensor of a run: null is not given.
template <typename View>
Status ReadRunTensor(const char* name, const skipattn_tensor* given, View* view) {
  if (given == nullptr) return {};
  Tensor tensor;
  Status status = ReadTensor(name, given, &tensor);
  *view = tensor;
  return status;
}

/// Null is not given.
template <typename View>
Status ReadCarry(const std::string& name, const skipattn_carry* given, BasicCarry<View>* carry) {
  if (given == nullptr) return {};
  skipattn_carry full;
  Status status = ReadStruct(name.c_str(), given, &full);
  if (!status.ok()) return status;
  status = ReadRunTensor((name + ".max").c_str(), full.max, &carry->max);
  if (!status.ok()) return status;
  status = ReadRunTensor((name + ".sum").c_str(), full.sum, &carry->sum);
  if (!status.ok()) return status;
  return ReadRunTensor((name + ".out").c_str(), full.out, &carry->out);
}

Status CheckReserved(const char* name, int32_t reserved) {
  return reserved == 0 ? Status() : Bad(std::string(name) + ": reserved", to_string(reserved), "0");
}

}  // namespace

Status ReadTensor(const char* name, const skipattn_tensor* given, Tensor* tensor) {
  skipattn_tensor full;
  if (Status status = ReadStruct(name, given, &full); !status.ok()) return status;
  if (full.rank < 0 || full.rank > Tensor::kMaxRank) {
    return Bad(std::string(name) + ": rank", to_string(full.rank),
               "0 (not given) to " + to_string(Tensor::kMaxRank));
  }
  const bool known =
      full.dtype >= 0 && full.dtype <= UINT8_MAX && DTypeSize(static_cast<DType>(full.dtype)) > 0;
  if (!known) {
    return Bad(std::string(name) + ": dtype", to_string(full.dtype),
               "an element type, SKIPATTN_F32 and so on");
  }
  tensor->data = full.data;
  tensor->dtype = static_cast<DType>(full.dtype);
  tensor->rank = full.rank;
  std::copy_n(full.shape, full.rank, tensor->shape);
  std::copy_n(full.stride, full.rank, tensor->stride);
  return {};
}

Status ReadDiagonal(const skipattn_diagonal* given, mask::Diagonal* diagonal) {
  if (given == nullptr) return {};
  skipattn_diagonal full;
  if (Status status = ReadStruct("diagonal", given, &full); !status.ok()) return status;
  switch (full.align) {
    case SKIPATTN_ALIGN_NONE:
      break;
    case SKIPATTN_ALIGN_TOP_LEFT:
      diagonal->align = mask::Align::kTopLeft;
      break;
    case SKIPATTN_ALIGN_BOTTOM_RIGHT:
      diagonal->align = mask::Align::kBottomRight;
      break;
    default:
      return Bad("diagonal: align", to_string(full.align),
                 "0 (none), 1 (top_left) or 2 (bottom_right)");
  }
  if (full.has_offset != 0) diagonal->offset = full.offset;
  if (full.offsets == nullptr) return {};
  Tensor offsets;
  Status status = ReadTensor("diagonal: offsets", full.offsets, &offsets);
  diagonal->offsets = offsets;
  return status;
}

Status ReadProblem(const skipattn_problem* given, Problem* problem) {
  skipattn_problem full;
  Status status = ReadStruct("problem", given, &full);
  if (!status.ok()) return status;
  problem->batch = full.batch;
  problem->heads = full.heads;
  problem->kv_heads = full.kv_heads;
  problem->q_len = full.q_len;
  problem->k_len = full.k_len;
  problem->dim = full.dim;
  problem->v_dim = full.v_dim;
  problem->sinks = full.has_sinks != 0;
  problem->bias = full.has_bias != 0;
  if (status = CheckReserved("problem", full.reserved); !status.ok()) return status;
  constexpr const char* kTypes = "the element types, SKIPATTN_F32 and so on";
  status = ReadEnum("q_dtype", full.q_dtype, kTypes, &problem->q_dtype);
  if (!status.ok()) return status;
  status = ReadEnum("kv_dtype", full.kv_dtype, kTypes, &problem->kv_dtype);
  if (!status.ok()) return status;
  return ReadEnum("out_dtype", full.out_dtype, kTypes, &problem->out_dtype);
}

Status ReadOptions(const skipattn_options* given, AttentionOptions* options, Bias* bias,
                   Allocator* allocator) {
  if (given == nullptr) return {};
  skipattn_options full;
  Status status = ReadStruct("options", given, &full);
  if (!status.ok()) return status;
  if (full.has_scale != 0) options->scale = full.scale;
  status = ReadEnum("empty_rows", full.empty_rows, "SKIPATTN_EMPTY_ROWS_", &options->empty_rows);
  if (!status.ok()) return status;
  status = ReadEnum("precision", full.precision, "SKIPATTN_PRECISION_", &options->precision);
  if (!status.ok()) return status;
  status = ReadEnum("backend", full.backend, "SKIPATTN_BACKEND_", &options->backend);
  if (!status.ok()) return status;
  status = ReadEnum("skipping", full.skipping, "SKIPATTN_SKIPPING_", &options->skipping);
  if (!status.ok()) return status;
  if (status = CheckReserved("options", full.reserved); !status.ok()) return status;
  options->softcap = full.softcap;
  options->bias_is_mask = full.bias_not_mask == 0;
  if (full.bias != nullptr) *bias = full.bias->bias;
  options->threads = full.threads;
  if (full.key_origin == nullptr && full.key_origin_count > 0) {
    return NullArgument("key_origin", (to_string(full.key_origin_count) + " values").c_str());
  }
  options->key_origin.assign(full.key_origin, full.key_origin + full.key_origin_count);
  if (full.target != nullptr) options->target = full.target;
  if (full.config != nullptr) options->config = full.config;
  options->parallel_for = {full.parallel_for, full.parallel_for_context};
  if ((full.allocate == nullptr) != (full.deallocate == nullptr)) {
    return full.allocate == nullptr ? NullArgument("allocate", "a function beside deallocate")
                                    : NullArgument("deallocate", "a function beside allocate");
  }
  *allocator = {full.allocate, full.deallocate, full.allocator_context};
  return {};
}

Status ReadRunArgs(const skipattn_run_args* given, RunArgs* args) {
  skipattn_run_args full;
  Status status = ReadStruct("args", given, &full);
  if (!status.ok()) return status;
  if (status = CheckReserved("args", full.reserved); !status.ok()) return status;
  if (status = ReadRunTensor("q", full.q, &args->q); !status.ok()) return status;
  if (status = ReadRunTensor("k", full.k, &args->k); !status.ok()) return status;
  if (status = ReadRunTensor("v", full.v, &args->v); !status.ok()) return status;
  if (status = ReadRunTensor("out", full.out, &args->out); !status.ok()) return status;
  if (status = ReadRunTensor("lse", full.lse, &args->lse); !status.ok()) return status;
  if (status = ReadRunTensor("sinks", full.sinks, &args->sinks); !status.ok()) return status;
  if (status = ReadRunTensor("bias", full.bias, &args->bias); !status.ok()) return status;
  status = ReadCarry("carry_in", full.carry_in, &args->carry_in);
  if (!status.ok()) return status;
  status = ReadCarry("carry_out", full.carry_out, &args->carry_out);
  if (!status.ok()) return status;
  args->workspace = full.workspace;
  args->workspace_bytes = full.workspace_bytes;
  args->threads = full.threads;
  return {};
}

Status ReadMergeArgs(const skipattn_merge_args* given, MergeArgs* args) {
  skipattn_merge_args full;
  Status status = ReadStruct("args", given, &full);
  if (!status.ok()) return status;
  if (status = ReadRunTensor("out_a", full.out_a, &args->out_a); !status.ok()) return status;
  if (status = ReadRunTensor("lse_a", full.lse_a, &args->lse_a); !status.ok()) return status;
  if (status = ReadRunTensor("out_b", full.out_b, &args->out_b); !status.ok()) return status;
  if (status = ReadRunTensor("lse_b", full.lse_b, &args->lse_b); !status.ok()) return status;
  if (status = ReadRunTensor("out", full.out, &args->out); !status.ok()) return status;
  return ReadRunTensor("lse", full.lse, &args->lse);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
