// Reference: makes the tables of a mask and evaluates single rows from them.
#include "skipattn/reference.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <limits>
#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "plan/check_mask.h"
#include "reference/impl.h"
#include "reference/predicate.h"
#include "runtime/float_env.h"
#include "runtime/validate.h"

namespace skipattn {
inline namespace v0 {

namespace internal {

std::vector<int64_t> AllowedKeys(const ReferenceRow& row, int64_t begin, int64_t end) {
  std::vector<int64_t> keys;
  for (int64_t j = begin; j < end; ++j) {
    if (row.Allows(j) && row.Bias(j) != -std::numeric_limits<float>::infinity()) keys.push_back(j);
  }
  return keys;
}

float ReferenceBias::At(const ConstTensor& dense, int64_t b, int64_t h, int64_t i,
                        int64_t j) const {
  if (kind == BiasKind::kNone) return 0.0f;
  if (kind == BiasKind::kDense) {
    const int64_t index[] = {b, h, i, j};
    int64_t at = 0;
    for (int axis = 0; axis < 4; ++axis) {
      if (dense.shape[axis] > 1) at += index[axis] * dense.stride[axis];
    }
    return static_cast<const float*>(dense.data)[at];
  }
  const int64_t distance = i + offset[static_cast<size_t>(b)] - j;
  if (kind == BiasKind::kAlibi) {
    return -values[static_cast<size_t>(h)] * static_cast<float>(std::abs(distance));
  }
  const int64_t place = std::clamp<int64_t>(size / 2 - distance, 0, size - 1);
  return values[static_cast<size_t>(h * size + place)];
}

}  // namespace internal

namespace {

using internal::Predicate;
using Impl = Reference::Impl;

double ScaleOf(const Problem& problem, const AttentionOptions& options) {
  const internal::ScopedFloatEnv env;
  // Volatile, so that the square root is not moved out of the environment.
  const volatile double dim = static_cast<double>(problem.dim);
  return options.scale.value_or(1.0 / std::sqrt(dim));
}

/// What a bias does to pairs, as far as the plan knows it.
class BiasAsMask {
 public:
  BiasAsMask(const internal::ReferenceBias& values, const Bias& bias,
             const AttentionOptions& options)
      : values_(values), known_(bias.term() != nullptr) {
    if (internal::KindOf(bias) != internal::BiasKind::kDense) return;
    known_ = options.bias_is_mask;
    dense_ = bias::FourAxes(bias.term()->values, bias.term()->axes);
  }

  bool known() const { return known_; }
  bool Masks(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return known_ && values_.At(dense_, b, h, i, j) == -std::numeric_limits<float>::infinity();
  }
  /// -inf counts too.
  bool IsSoft(int64_t b, int64_t h, int64_t i, int64_t j) const {
    return known_ && values_.At(dense_, b, h, i, j) <= -1e30f;
  }

 private:
  const internal::ReferenceBias& values_;
  bool known_;
  ConstTensor dense_;
};

/// In a row that attends a key that is not soft, the soft ones are masked.
void FillAllowed(const Predicate& predicate, const BiasAsMask& bias, int64_t b, int64_t h,
                 Impl* impl) {
  for (int64_t i = 0; i < impl->problem.q_len; ++i) {
    const size_t begin = impl->allowed.size();
    bool any = false;
    for (int64_t j = 0; j < impl->problem.k_len; ++j) {
      const bool allowed = predicate.Allows(b, h, i, j) && !bias.IsSoft(b, h, i, j);
      impl->allowed.push_back(allowed ? 1 : 0);
      any = any || allowed;
    }
    for (int64_t j = 0; j < impl->problem.k_len && !any; ++j) {
      const bool allowed = predicate.Allows(b, h, i, j) && !bias.Masks(b, h, i, j);
      impl->allowed[begin + static_cast<size_t>(j)] = allowed ? 1 : 0;
    }
  }
}

/// The origin of a row: the lowest key that any row of its plane and document attends, causal,
/// window and prefix_causal terms counted as true, soft keys only where there are no others; 0 if
/// there is none, as then nothing depends on it.
void FillOrigins(const Predicate& predicate, const BiasAsMask& bias, int64_t b, int64_t h,
                 Impl* impl) {
  const auto [q_len, k_len] = std::pair(impl->problem.q_len, impl->problem.k_len);
  struct Lowest {
    int64_t key, soft_key;
  };
  std::map<std::vector<int64_t>, Lowest> lowest;
  for (int64_t i = 0; i < q_len; ++i) {
    Lowest& low = lowest.emplace(predicate.DocumentOf(b, i), Lowest{k_len, k_len}).first->second;
    for (int64_t j = 0; j < low.key; ++j) {
      if (bias.Masks(b, h, i, j) || !predicate.AllowsWide(b, h, i, j)) continue;
      int64_t& lowest_key = bias.IsSoft(b, h, i, j) ? low.soft_key : low.key;
      lowest_key = std::min(lowest_key, j);
    }
  }
  for (int64_t i = 0; i < q_len; ++i) {
    const Lowest& low = lowest.at(predicate.DocumentOf(b, i));
    const int64_t found = low.key < k_len ? low.key : low.soft_key;
    impl->origin.push_back(found == k_len ? 0 : found);
  }
}

internal::ReferenceBias CopyBias(const Problem& problem, const Bias& bias) {
  internal::ReferenceBias copy;
  copy.kind = internal::KindOf(bias);
  if (copy.kind == internal::BiasKind::kNone || copy.kind == internal::BiasKind::kDense)
    return copy;
  const ConstTensor& given = bias.term()->values;
  copy.size = given.rank == 2 ? given.shape[1] : 1;
  for (int64_t h = 0; h < problem.heads; ++h) {
    for (int64_t n = 0; n < copy.size; ++n) {
      copy.values.push_back(
          static_cast<const float*>(given.data)[h * given.stride[0] + n * given.stride[1]]);
    }
  }
  const mask::Diagonal& diagonal = bias.term()->diagonal;
  for (int64_t b = 0; b < problem.batch; ++b) {
    int64_t offset = diagonal.offset.value_or(0);
    if (diagonal.offsets.given()) offset = internal::IntAt(diagonal.offsets, b);
    if (diagonal.align == mask::Align::kBottomRight) offset = problem.k_len - problem.q_len;
    copy.offset.push_back(offset);
  }
  return copy;
}

std::shared_ptr<const Impl> MakeImpl(const Problem& problem, const Mask& mask, const Bias& bias,
                                     const AttentionOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->problem = problem;
  impl->scale = ScaleOf(problem, options);
  impl->softcap = options.softcap;
  impl->empty_rows = options.empty_rows;
  impl->bias = CopyBias(problem, bias);
  if (problem.bias) impl->bias.kind = internal::BiasKind::kDense;
  impl->key_origin = options.key_origin;
  const Predicate predicate(problem, mask);
  const BiasAsMask as_mask(impl->bias, bias, options);
  const bool by_batch = predicate.VariesByBatch() || as_mask.known() || problem.batch == 0;
  const int64_t batches = by_batch ? problem.batch : 1;
  const int64_t heads = predicate.VariesByHead() || as_mask.known() ? problem.heads : 1;
  impl->head_step = heads > 1 ? 1 : 0;
  impl->batch_step = batches > 1 ? heads : 0;
  const size_t rows = static_cast<size_t>(batches * heads * problem.q_len);
  impl->allowed.reserve(rows * static_cast<size_t>(problem.k_len));
  impl->origin.reserve(rows);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      FillAllowed(predicate, as_mask, b, h, impl.get());
      FillOrigins(predicate, as_mask, b, h, impl.get());
    }
  }
  return impl;
}

/// Whether row (b, h, i) exists.
Status CheckRow(const Problem& p, int64_t b, int64_t h, int64_t i) {
  const struct {
    const char* name;
    int64_t at, size;
  } axes[] = {{"b", b, p.batch}, {"h", h, p.heads}, {"i", i, p.q_len}};
  for (const auto& axis : axes) {
    if (axis.at < 0 || axis.at >= axis.size) {
      return Status::InvalidArgument(std::string(axis.name) + " is " + std::to_string(axis.at) +
                                     ", expected 0 or more and less than " +
                                     std::to_string(axis.size));
    }
  }
  return {};
}

/// `work()`, with exceptions turned into a status. The message is short enough for a string without
/// an allocation.
template <typename Work>
auto WithoutExceptions(const Work& work) -> decltype(work()) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "out of memory");
  } catch (const std::length_error&) {
    return Status(StatusCode::kOutOfMemory, "out of memory");
  } catch (const internal::MaskFunctionError& error) {
    return Status::InvalidArgument(error.what());
  } catch (const std::exception& error) {
    return Status(StatusCode::kInternal, error.what());
  } catch (...) {  // of a mask function that throws when it is copied
    return Status(StatusCode::kInternal, "an exception of unknown type");
  }
}

}  // namespace

Result<Reference> Reference::Make(const Problem& problem, const Mask& mask,
                                  const AttentionOptions& options) {
  return Make(problem, mask, {}, options);
}

Result<Reference> Reference::Make(const Problem& given, const Mask& mask, const Bias& bias,
                                  const AttentionOptions& options) {
  return WithoutExceptions([&]() -> Result<Reference> {
    const Problem problem = internal::WithBias(given, bias);
    if (Status s = internal::CheckProblem(problem); !s.ok()) return s;
    if (Status s = internal::CheckOptions(problem, options); !s.ok()) return s;
    if (Status s = internal::CheckMask(problem, mask); !s.ok()) return s;
    if (Status s = internal::CheckBias(problem, bias); !s.ok()) return s;
    return Reference(MakeImpl(problem, mask, bias, options));
  });
}

bool Reference::Allows(int64_t b, int64_t h, int64_t i, int64_t j) const {
  const Problem& p = impl_->problem;
  if (!CheckRow(p, b, h, i).ok() || j < 0 || j >= p.k_len) return false;
  return impl_->allowed[impl_->RowOf(b, h, i) * static_cast<size_t>(p.k_len) +
                        static_cast<size_t>(j)] != 0;
}

Status Reference::ExactRow(const RunArgs& args, int64_t b, int64_t h, int64_t i, float* out,
                           float* lse) const {
  return WithoutExceptions([&]() -> Status {
    if (Status status = internal::CheckInputs(impl_->problem, args); !status.ok()) return status;
    if (Status status = CheckRow(impl_->problem, b, h, i); !status.ok()) return status;
    if (out == nullptr) return Status::InvalidArgument("out is null, expected room for v_dim f32");
    const internal::ScopedFloatEnv env;
    internal::EvaluateExact(internal::ReferenceRow(*impl_, args, b, h, i), out, lse);
    return {};
  });
}

Status Reference::ExactState(const RunArgs& args, int64_t b, int64_t h, int64_t i, float* max,
                             float* sum, float* out) const {
  return WithoutExceptions([&]() -> Status {
    if (Status status = internal::CheckInputs(impl_->problem, args); !status.ok()) return status;
    if (Status status = CheckRow(impl_->problem, b, h, i); !status.ok()) return status;
    if (max == nullptr || sum == nullptr || out == nullptr) {
      return Status::InvalidArgument("max, sum or out is null, expected room for each");
    }
    const internal::ScopedFloatEnv env;
    internal::EvaluateState(internal::ReferenceRow(*impl_, args, b, h, i), max, sum, out);
    return {};
  });
}

Result<Float64Row> Reference::Row64(const RunArgs& args, int64_t b, int64_t h, int64_t i) const {
  return WithoutExceptions([&]() -> Result<Float64Row> {
    if (Status status = internal::CheckInputs(impl_->problem, args); !status.ok()) return status;
    if (Status status = CheckRow(impl_->problem, b, h, i); !status.ok()) return status;
    if (args.carry_in.given()) {
      return Status::InvalidArgument("carry_in is given, expected none: float64 wants all keys");
    }
    const internal::ScopedFloatEnv env;
    return internal::EvaluateFloat64(internal::ReferenceRow(*impl_, args, b, h, i));
  });
}

}  // namespace v0
}  // namespace skipattn
