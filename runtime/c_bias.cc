// Biases of the C interface, and the merge.
#include <memory>
#include <string>

#include "runtime/c_convert.h"
#include "runtime/c_error.h"

namespace {

using skipattn::Bias;
using skipattn::ConstTensor;
using skipattn::Status;
using skipattn::internal::Guard;
using skipattn::internal::NullArgument;
using skipattn::mask::Diagonal;

/// A new handle for the bias that `make`, which returns a Status, sets.
template <typename Make>
skipattn_status NewBias(skipattn_bias** handle, const Make& make) {
  if (handle != nullptr) *handle = nullptr;
  return Guard([&]() -> Status {
    if (handle == nullptr) return NullArgument("bias", "where the new bias goes");
    auto made = std::make_unique<skipattn_bias>();
    if (Status status = make(&made->bias); !status.ok()) return status;
    *handle = made.release();
    return {};
  });
}

skipattn_status OnDiagonal(const char* name, const skipattn_tensor* given,
                           const skipattn_diagonal* diagonal,
                           Bias (*kind)(const ConstTensor&, const Diagonal&),
                           skipattn_bias** handle) {
  return NewBias(handle, [&](Bias* made) {
    skipattn::Tensor array;
    Diagonal read;
    Status status = skipattn::internal::ReadTensor(name, given, &array);
    if (status.ok()) status = skipattn::internal::ReadDiagonal(diagonal, &read);
    if (status.ok()) *made = kind(array, read);
    return status;
  });
}

}  // namespace

void skipattn_bias_free(skipattn_bias* bias) { delete bias; }

skipattn_status skipattn_bias_dense(const skipattn_tensor* values, const char* axes,
                                    skipattn_bias** bias) {
  return NewBias(bias, [&](Bias* made) {
    skipattn::Tensor array;
    Status status = skipattn::internal::ReadTensor("values", values, &array);
    if (status.ok()) *made = skipattn::bias::Dense(array, axes != nullptr ? axes : "");
    return status;
  });
}

skipattn_status skipattn_bias_alibi(const skipattn_tensor* slopes,
                                    const skipattn_diagonal* diagonal, skipattn_bias** bias) {
  return OnDiagonal("slopes", slopes, diagonal, skipattn::bias::Alibi, bias);
}

skipattn_status skipattn_bias_relative(const skipattn_tensor* table,
                                       const skipattn_diagonal* diagonal, skipattn_bias** bias) {
  return OnDiagonal("table", table, diagonal, skipattn::bias::Relative, bias);
}

skipattn_status skipattn_merge(const skipattn_merge_args* args) {
  return Guard([&]() -> Status {
    skipattn::MergeArgs merge;
    Status status = skipattn::internal::ReadMergeArgs(args, &merge);
    return status.ok() ? skipattn::Merge(merge) : status;
  });
}
