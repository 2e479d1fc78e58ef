// Joins finished results; see skipattn/merge.h.
#include "skipattn/merge.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "runtime/float_env.h"
#include "runtime/validate.h"

namespace skipattn {
inline namespace v0 {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

float Rounded(double x) {
  return std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(x);
}

template <typename T, typename View>
T* At(const View& view, int64_t b, int64_t h, int64_t i) {
  return static_cast<T*>(view.data) + b * view.stride[0] + h * view.stride[1] + i * view.stride[2];
}

/// One row; the outputs may be the inputs.
void MergeRow(const float* a, double lse_a, const float* b, double lse_b, int64_t dim, float* out,
              float* lse) {
  if (std::isnan(lse_a) || std::isnan(lse_b)) {
    *lse = std::numeric_limits<float>::quiet_NaN();
    std::fill_n(out, dim, *lse);
    return;
  }
  const double max = std::max(lse_a, lse_b);
  if (max == -kInfinity) {
    std::fill_n(out, dim, 0.0f);
    *lse = -std::numeric_limits<float>::infinity();
    return;
  }
  if (lse_a == -kInfinity || lse_b == -kInfinity) {
    const float* only = lse_b == -kInfinity ? a : b;
    for (int64_t d = 0; d < dim; ++d) out[d] = Rounded(only[d]);
    *lse = Rounded(lse_b == -kInfinity ? lse_a : lse_b);
    return;
  }
  const double weight_a = std::exp(lse_a - max), weight_b = std::exp(lse_b - max);
  const double sum = weight_a + weight_b;
  const double share_a = weight_a / sum, share_b = weight_b / sum;
  for (int64_t d = 0; d < dim; ++d) out[d] = Rounded(share_a * a[d] + share_b * b[d]);
  *lse = Rounded(max + std::log(sum));
}

}  // namespace

Status Merge(const MergeArgs& args) {
  if (Status status = internal::CheckMerge(args); !status.ok()) return status;
  const internal::ScopedFloatEnv env;
  const int64_t* shape = args.out_a.shape;
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      for (int64_t i = 0; i < shape[2]; ++i) {
        MergeRow(At<const float>(args.out_a, b, h, i), *At<const float>(args.lse_a, b, h, i),
                 At<const float>(args.out_b, b, h, i), *At<const float>(args.lse_b, b, h, i),
                 shape[3], At<float>(args.out, b, h, i), At<float>(args.lse, b, h, i));
      }
    }
  }
  return {};
}

}  // namespace v0
}  // namespace skipattn
