// For tests of the C interface's parts: views, and checks of failures.
#ifndef SKIPATTN_TESTS_RUNTIME_C_UTIL_H_
#define SKIPATTN_TESTS_RUNTIME_C_UTIL_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "skipattn/skipattn.h"
#include "skipattn/tensor.h"
#include "tests/test_util.h"

namespace skipattn::test {

/// A C++ view in C.
inline skipattn_tensor CView(const ConstTensor& view) {
  skipattn_tensor tensor = SKIPATTN_TENSOR_INIT;
  tensor.data = const_cast<void*>(view.data);
  tensor.dtype = static_cast<int32_t>(view.dtype);
  tensor.rank = view.rank;
  std::copy_n(view.shape, 4, tensor.shape);
  std::copy_n(view.stride, 4, tensor.stride);
  return tensor;
}

/// An error of an argument, and the thread's last message has all `parts`.
inline testing::AssertionResult CComplains(skipattn_status status,
                                           const std::vector<std::string>& parts) {
  return Complains(Status(static_cast<StatusCode>(status), skipattn_last_error()), parts);
}

struct CFree {
  void operator()(skipattn_mask* mask) const { skipattn_mask_free(mask); }
  void operator()(skipattn_bias* bias) const { skipattn_bias_free(bias); }
  void operator()(skipattn_plan* plan) const { skipattn_plan_free(plan); }
};
using CMask = std::unique_ptr<skipattn_mask, CFree>;
using CBias = std::unique_ptr<skipattn_bias, CFree>;
using CPlan = std::unique_ptr<skipattn_plan, CFree>;

inline CMask CausalMask() {
  skipattn_mask* mask = nullptr;
  EXPECT_EQ(skipattn_mask_causal(nullptr, &mask), SKIPATTN_OK) << skipattn_last_error();
  return CMask(mask);
}

inline skipattn_problem CProblem(const Problem& p) {
  skipattn_problem problem = SKIPATTN_PROBLEM_INIT;
  problem.batch = p.batch;
  problem.heads = p.heads;
  problem.kv_heads = p.kv_heads;
  problem.q_len = p.q_len;
  problem.k_len = p.k_len;
  problem.dim = p.dim;
  problem.v_dim = p.v_dim;
  return problem;
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RUNTIME_C_UTIL_H_
