// Reference: makes the tables of a mask and evaluates single rows from them.
#include "skipattn/reference.h"

#include <cmath>
#include <exception>
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
    if (row.Allows(j)) keys.push_back(j);
  }
  return keys;
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

void FillAllowed(const Predicate& predicate, int64_t b, int64_t h, Impl* impl) {
  for (int64_t i = 0; i < impl->problem.q_len; ++i) {
    for (int64_t j = 0; j < impl->problem.k_len; ++j) {
      impl->allowed.push_back(predicate.Allows(b, h, i, j) ? 1 : 0);
    }
  }
}

/// The origin of a row: the lowest key that any row of its plane and document attends, causal and
/// window terms counted as true; 0 if there is none, as then nothing depends on it.
void FillOrigins(const Predicate& predicate, int64_t b, int64_t h, Impl* impl) {
  const auto [q_len, k_len] = std::pair(impl->problem.q_len, impl->problem.k_len);
  std::map<std::vector<int64_t>, int64_t> lowest;
  for (int64_t i = 0; i < q_len; ++i) {
    int64_t& low = lowest.emplace(predicate.DocumentOf(b, i), k_len).first->second;
    for (int64_t j = 0; j < low; ++j) {
      if (predicate.AllowsWide(b, h, i, j)) low = j;
    }
  }
  for (int64_t i = 0; i < q_len; ++i) {
    const int64_t low = lowest.at(predicate.DocumentOf(b, i));
    impl->origin.push_back(low == k_len ? 0 : low);
  }
}

std::shared_ptr<const Impl> MakeImpl(const Problem& problem, const Mask& mask,
                                     const AttentionOptions& options) {
  auto impl = std::make_shared<Impl>();
  impl->problem = problem;
  impl->scale = ScaleOf(problem, options);
  impl->softcap = options.softcap;
  impl->empty_rows = options.empty_rows;
  impl->key_origin = options.key_origin;
  const Predicate predicate(problem, mask);
  const int64_t batches = predicate.VariesByBatch() || problem.batch == 0 ? problem.batch : 1;
  const int64_t heads = predicate.VariesByHead() ? problem.heads : 1;
  impl->head_step = heads > 1 ? 1 : 0;
  impl->batch_step = batches > 1 ? heads : 0;
  const size_t rows = static_cast<size_t>(batches * heads * problem.q_len);
  impl->allowed.reserve(rows * static_cast<size_t>(problem.k_len));
  impl->origin.reserve(rows);
  for (int64_t b = 0; b < batches; ++b) {
    for (int64_t h = 0; h < heads; ++h) {
      FillAllowed(predicate, b, h, impl.get());
      FillOrigins(predicate, b, h, impl.get());
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
  return WithoutExceptions([&]() -> Result<Reference> {
    if (Status status = internal::CheckProblem(problem); !status.ok()) return status;
    if (Status status = internal::CheckOptions(problem, options); !status.ok()) return status;
    if (Status status = internal::CheckMask(problem, mask); !status.ok()) return status;
    return Reference(MakeImpl(problem, mask, options));
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

Result<Float64Row> Reference::Row64(const RunArgs& args, int64_t b, int64_t h, int64_t i) const {
  return WithoutExceptions([&]() -> Result<Float64Row> {
    if (Status status = internal::CheckInputs(impl_->problem, args); !status.ok()) return status;
    if (Status status = CheckRow(impl_->problem, b, h, i); !status.ok()) return status;
    const internal::ScopedFloatEnv env;
    return internal::EvaluateFloat64(internal::ReferenceRow(*impl_, args, b, h, i));
  });
}

}  // namespace v0
}  // namespace skipattn
