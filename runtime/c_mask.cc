// Masks and tensor views of the C interface.
#include <memory>
#include <string>

#include "runtime/c_convert.h"
#include "runtime/c_error.h"
#include "runtime/c_struct.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// A new handle for the mask that `make`, which returns a Status, sets.
template <typename Make>
skipattn_status NewMask(skipattn_mask** handle, const Make& make) {
  if (handle != nullptr) *handle = nullptr;
  return Guard([&]() -> Status {
    if (handle == nullptr) return NullArgument("mask", "where the new mask goes");
    auto made = std::make_unique<skipattn_mask>();
    if (Status status = make(&made->mask); !status.ok()) return status;
    *handle = made.release();
    return {};
  });
}

/// A term of one array.
skipattn_status OfArray(const char* name, const skipattn_tensor* given,
                        Mask (*term)(const ConstTensor&), skipattn_mask** handle) {
  return NewMask(handle, [&](Mask* mask) -> Status {
    Tensor array;
    if (Status status = ReadTensor(name, given, &array); !status.ok()) return status;
    *mask = term(array);
    return {};
  });
}

/// A term of two.
skipattn_status OfArrays(const char* first_name, const skipattn_tensor* first,
                         const char* second_name, const skipattn_tensor* second,
                         Mask (*term)(const ConstTensor&, const ConstTensor&),
                         skipattn_mask** handle) {
  return NewMask(handle, [&](Mask* mask) -> Status {
    Tensor a, b;
    if (Status status = ReadTensor(first_name, first, &a); !status.ok()) return status;
    if (Status status = ReadTensor(second_name, second, &b); !status.ok()) return status;
    *mask = term(a, b);
    return {};
  });
}

/// A mask of two others.
skipattn_status Joined(const skipattn_mask* a, const skipattn_mask* b,
                       Mask (*join)(const Mask&, const Mask&), skipattn_mask** handle) {
  return NewMask(handle, [&](Mask* mask) -> Status {
    if (a == nullptr) return NullArgument("a", "a mask");
    if (b == nullptr) return NullArgument("b", "a mask");
    *mask = join(a->mask, b->mask);
    return {};
  });
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn

namespace mask = skipattn::mask;
using skipattn::Status;
using skipattn::internal::Guard;
using skipattn::internal::Joined;
using skipattn::internal::NewMask;
using skipattn::internal::NullArgument;
using skipattn::internal::OfArray;
using skipattn::internal::OfArrays;

skipattn_status skipattn_tensor_contiguous(skipattn_tensor* tensor, const void* data, int32_t dtype,
                                           int32_t rank, const int64_t* shape) {
  return Guard([&]() -> Status {
    if (rank < 1 || rank > 4) {
      return Status::InvalidArgument("rank is " + std::to_string(rank) + ", expected 1 to 4");
    }
    if (shape == nullptr) return NullArgument("shape", "as many sizes as the rank");
    skipattn_tensor full = SKIPATTN_TENSOR_INIT;
    full.data = const_cast<void*>(data);
    full.dtype = dtype;
    full.rank = rank;
    // Unsigned, so that sizes whose product overflows reach the checks of a run.
    uint64_t step = 1;
    for (int axis = rank - 1; axis >= 0; --axis) {
      full.shape[axis] = shape[axis];
      full.stride[axis] = static_cast<int64_t>(step);
      step *= static_cast<uint64_t>(shape[axis]);
    }
    return skipattn::internal::WriteStruct("tensor", full, tensor);
  });
}

void skipattn_mask_free(skipattn_mask* mask) { delete mask; }

skipattn_status skipattn_mask_everything(skipattn_mask** mask) {
  return NewMask(mask, [](skipattn::Mask*) { return Status(); });
}

skipattn_status skipattn_mask_and(const skipattn_mask* a, const skipattn_mask* b,
                                  skipattn_mask** mask) {
  return Joined(
      a, b, [](const skipattn::Mask& x, const skipattn::Mask& y) { return x & y; }, mask);
}

skipattn_status skipattn_mask_or(const skipattn_mask* a, const skipattn_mask* b,
                                 skipattn_mask** mask) {
  return Joined(
      a, b, [](const skipattn::Mask& x, const skipattn::Mask& y) { return x | y; }, mask);
}

skipattn_status skipattn_mask_not(const skipattn_mask* a, skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    if (a == nullptr) return NullArgument("a", "a mask");
    *made = ~a->mask;
    return Status();
  });
}

skipattn_status skipattn_mask_key_lengths(const skipattn_tensor* lengths, skipattn_mask** mask) {
  return OfArray("lengths", lengths, mask::KeyLengths, mask);
}

skipattn_status skipattn_mask_key_range(const skipattn_tensor* begin, const skipattn_tensor* end,
                                        skipattn_mask** mask) {
  return OfArrays("begin", begin, "end", end, mask::KeyRange, mask);
}

skipattn_status skipattn_mask_key_valid(const skipattn_tensor* valid, skipattn_mask** mask) {
  return OfArray("valid", valid, mask::KeyValid, mask);
}

skipattn_status skipattn_mask_query_lengths(const skipattn_tensor* lengths, skipattn_mask** mask) {
  return OfArray("lengths", lengths, mask::QueryLengths, mask);
}

skipattn_status skipattn_mask_query_range(const skipattn_tensor* begin, const skipattn_tensor* end,
                                          skipattn_mask** mask) {
  return OfArrays("begin", begin, "end", end, mask::QueryRange, mask);
}

skipattn_status skipattn_mask_query_valid(const skipattn_tensor* valid, skipattn_mask** mask) {
  return OfArray("valid", valid, mask::QueryValid, mask);
}

skipattn_status skipattn_mask_padding(const skipattn_tensor* valid, skipattn_mask** mask) {
  return OfArray("valid", valid, mask::Padding, mask);
}

skipattn_status skipattn_mask_causal(const skipattn_diagonal* diagonal, skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    mask::Diagonal read;
    Status status = skipattn::internal::ReadDiagonal(diagonal, &read);
    if (status.ok()) *made = mask::Causal(read);
    return status;
  });
}

skipattn_status skipattn_mask_window(int64_t left, int64_t right, const skipattn_diagonal* diagonal,
                                     skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    mask::Diagonal read;
    Status status = skipattn::internal::ReadDiagonal(diagonal, &read);
    if (status.ok()) *made = mask::Window(left, right, read);
    return status;
  });
}

skipattn_status skipattn_mask_prefix_causal(const skipattn_tensor* prefix,
                                            const skipattn_diagonal* diagonal,
                                            skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    skipattn::Tensor array;
    mask::Diagonal read;
    Status status = skipattn::internal::ReadTensor("prefix", prefix, &array);
    if (status.ok()) status = skipattn::internal::ReadDiagonal(diagonal, &read);
    if (status.ok()) *made = mask::PrefixCausal(array, read);
    return status;
  });
}

skipattn_status skipattn_mask_documents(const skipattn_tensor* q_ids, const skipattn_tensor* k_ids,
                                        skipattn_mask** mask) {
  return OfArrays("q_ids", q_ids, "k_ids", k_ids, mask::Documents, mask);
}

skipattn_status skipattn_mask_documents_from_boundaries(const skipattn_tensor* cu_seqlens_q,
                                                        const skipattn_tensor* cu_seqlens_k,
                                                        skipattn_mask** mask) {
  return OfArrays("cu_seqlens_q", cu_seqlens_q, "cu_seqlens_k", cu_seqlens_k,
                  mask::DocumentsFromBoundaries, mask);
}

skipattn_status skipattn_mask_dense(const skipattn_tensor* values, const char* axes,
                                    skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    skipattn::Tensor array;
    Status status = skipattn::internal::ReadTensor("values", values, &array);
    if (status.ok()) *made = mask::Dense(array, axes != nullptr ? axes : "");
    return status;
  });
}

skipattn_status skipattn_mask_blocks(const skipattn_tensor* values, const char* axes,
                                     int64_t block_q, int64_t block_k, skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    skipattn::Tensor array;
    Status status = skipattn::internal::ReadTensor("values", values, &array);
    if (status.ok()) *made = mask::Blocks(array, axes != nullptr ? axes : "", block_q, block_k);
    return status;
  });
}

skipattn_status skipattn_mask_function(skipattn_predicate f, void* context, skipattn_mask** mask) {
  return NewMask(mask, [&](skipattn::Mask* made) {
    if (f == nullptr) return NullArgument("f", "a function");
    *made = mask::Function([f, context](int64_t b, int64_t h, int64_t i, int64_t j) {
      return f(context, b, h, i, j) != 0;
    });
    return Status();
  });
}
