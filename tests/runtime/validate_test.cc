#include "runtime/validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <vector>

#include "tests/test_util.h"

namespace {
int64_t allocations = 0;
}  // namespace

// Counting; not inlined, as gcc takes a free() that it sees for a mistake.
__attribute__((noinline)) void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using test::Array4;
using test::Complains;
using test::Inputs;

Problem SomeProblem() {
  Problem problem = test::MakeProblem(5, 7, 8);
  problem.batch = 2;
  problem.heads = 4;
  problem.kv_heads = 2;
  problem.v_dim = 6;
  return problem;
}

// ---------------------------------------------------------------------------------------- problem

template <typename Change>
Status WithProblem(Change change) {
  Problem problem = SomeProblem();
  change(problem);
  return CheckProblem(problem);
}

TEST(CheckProblemTest, AcceptsWhatCanBeComputed) {
  EXPECT_TRUE(CheckProblem(SomeProblem()).ok());
  EXPECT_TRUE(WithProblem([](Problem& p) { p.batch = 0; }).ok());
  EXPECT_TRUE(WithProblem([](Problem& p) { p.q_len = 0; }).ok());
  EXPECT_TRUE(WithProblem([](Problem& p) { p.k_len = 0; }).ok());
}

TEST(CheckProblemTest, SizesAreNamed) {
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.batch = -1; }), {"batch is -1", "0 or"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.heads = 0; }), {"heads is 0", "1 or"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.kv_heads = 0; }), {"kv_heads is 0"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.q_len = -2; }), {"q_len is -2"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.k_len = -3; }), {"k_len is -3"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.dim = 0; }), {"dim is 0"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.v_dim = 0; }), {"v_dim is 0"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.kv_heads = 3; }),
                        {"kv_heads is 3, expected a divisor of heads = 4"}));
}

TEST(CheckProblemTest, ProductsMayNotOverflow) {
  EXPECT_TRUE(WithProblem([](Problem& p) { p.q_len = int64_t{1} << 54; }).ok());
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.q_len = int64_t{1} << 55; }), {"q is of"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.k_len = INT64_MAX; }), {"k is of", "2^62"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.v_dim = int64_t{1} << 60; }), {"v is of"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) {
                          p.batch = 0;
                          p.q_len = INT64_MAX;
                        }),
                        {"q is of"}));
  EXPECT_TRUE(
      Complains(WithProblem([](Problem& p) { p.q_len = p.k_len = int64_t{1} << 32; }), {"q_len"}));
}

TEST(CheckProblemTest, TypesAreF32) {
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.q_dtype = DType::kBF16; }),
                        {"q_dtype is bf16, expected f32"}));
  EXPECT_TRUE(
      Complains(WithProblem([](Problem& p) { p.kv_dtype = DType::kF16; }), {"kv_dtype is f16"}));
  EXPECT_TRUE(Complains(WithProblem([](Problem& p) { p.out_dtype = static_cast<DType>(77); }),
                        {"out_dtype is unknown"}));
}

// ---------------------------------------------------------------------------------------- options

template <typename Change>
Status WithOptions(Change change) {
  AttentionOptions options;
  change(options);
  return CheckOptions(SomeProblem(), options);
}

TEST(CheckOptionsTest, AcceptsWhatCanBeComputed) {
  EXPECT_TRUE(CheckOptions(SomeProblem(), {}).ok());
  for (const double scale : {0.0, -1.0, 1e38, 1e-300}) {
    EXPECT_TRUE(WithOptions([&](AttentionOptions& o) { o.scale = scale; }).ok());
  }
  EXPECT_TRUE(WithOptions([](AttentionOptions& o) { o.key_origin = {INT64_MIN}; }).ok());
  EXPECT_TRUE(WithOptions([](AttentionOptions& o) { o.key_origin = {-1, INT64_MAX}; }).ok());
  EXPECT_TRUE(WithOptions([](AttentionOptions& o) { o.skipping = Skipping::kOff; }).ok());
}

TEST(CheckOptionsTest, ScaleIsFiniteInF32) {
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(Complains(WithOptions([](AttentionOptions& o) { o.scale = std::nan(""); }),
                        {"scale is nan", "finite"}));
  EXPECT_TRUE(
      Complains(WithOptions([&](AttentionOptions& o) { o.scale = -inf; }), {"scale", "-inf"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.scale = 1e39; }), {"scale is 1e+39"}));
}

TEST(CheckOptionsTest, SoftcapIsPositiveOrNone) {
  for (const double softcap : {0.0, 1e-38, 30.0, 2e38}) {
    EXPECT_TRUE(WithOptions([&](AttentionOptions& o) { o.softcap = softcap; }).ok());
  }
  for (const double softcap : {-1.0, 1e-39, 3e38, std::nan("")}) {
    EXPECT_TRUE(Complains(WithOptions([&](AttentionOptions& o) { o.softcap = softcap; }),
                          {"softcap is ", "0 (none)"}));
  }
}

TEST(CheckOptionsTest, EveryOptionIsNamed) {
  EXPECT_TRUE(Complains(WithOptions([](AttentionOptions& o) {
                          o.key_origin = {1, 2, 3};
                        }),
                        {"key_origin is of 3 values", "(2)"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.threads = -1; }), {"threads is -1"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.empty_rows = static_cast<EmptyRows>(9); }),
                {"empty_rows is 9", "keep"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.precision = static_cast<Precision>(1); }),
                {"precision is 1", "exact"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.backend = static_cast<Backend>(2); }),
                {"backend is 2", "reference"}));
  EXPECT_TRUE(
      Complains(WithOptions([](AttentionOptions& o) { o.skipping = static_cast<Skipping>(2); }),
                {"skipping is 2", "off"}));
}

// ---------------------------------------------------------------------------------------- run

class CheckRunTest : public testing::Test {
 protected:
  CheckRunTest() : inputs_(SomeProblem(), 1), out_({2, 4, 5, 6}), lse_(2 * 4 * 5) {
    args_ = inputs_.Args();
    args_.out = out_.View();
    args_.lse = Tensor(lse_.data(), {2, 4, 5});
  }

  Status Check() const { return CheckRun(inputs_.problem, args_); }

  Inputs inputs_;
  Array4 out_;
  std::vector<float> lse_;
  RunArgs args_;
};

TEST_F(CheckRunTest, AcceptsWhatFits) {
  EXPECT_TRUE(Check().ok()) << Check().message();
  args_.lse = {};
  EXPECT_TRUE(Check().ok());
  args_.k.stride[0] = args_.k.stride[1] = 0;  // broadcast
  EXPECT_TRUE(Check().ok());
}

TEST_F(CheckRunTest, AllocatesNothingWhileAllIsWell) {
  const int64_t before = allocations;
  const bool ok = Check().ok();
  EXPECT_EQ(allocations, before);
  EXPECT_TRUE(ok);
}

TEST_F(CheckRunTest, MissingViews) {
  args_.q = {};
  EXPECT_TRUE(
      Complains(Check(), {"q is not given", "f32 [batch, heads, q_len, dim] = [2, 4, 5, 8]"}));
  args_ = inputs_.Args();
  EXPECT_TRUE(Complains(Check(), {"out is not given", "[2, 4, 5, 6]"}));
  args_.out = out_.View();
  args_.v.data = nullptr;
  EXPECT_TRUE(Complains(Check(), {"v is a null pointer"}));
}

TEST_F(CheckRunTest, ShapesAndTypes) {
  args_.k.shape[2] = 6;
  EXPECT_TRUE(Complains(Check(), {"k: shape is [2, 2, 6, 8]", "[2, 2, 7, 8]", "kv_heads"}));
  args_ = inputs_.Args();
  args_.q.rank = 3;
  EXPECT_TRUE(Complains(Check(), {"q: rank is 3, expected 4"}));
  args_.q.rank = 5;
  EXPECT_TRUE(Complains(Check(), {"q: rank is 5, expected 4"}));
  args_ = inputs_.Args();
  args_.v.dtype = DType::kF16;
  EXPECT_TRUE(Complains(Check(), {"v: dtype is f16, expected f32"}));
}

TEST_F(CheckRunTest, LseHasThreeAxes) {
  args_.lse = Tensor(lse_.data(), {2, 4, 5, 1});
  EXPECT_TRUE(Complains(Check(), {"lse: rank is 4, expected 3"}));
  args_.lse = Tensor(lse_.data(), {2, 5, 4});
  EXPECT_TRUE(Complains(Check(), {"lse: shape is [2, 5, 4]", "[2, 4, 5]"}));
  args_.lse = args_.lse.SwapAxes(1, 2);  // its last stride need not be 1
  EXPECT_TRUE(Check().ok());
}

TEST_F(CheckRunTest, SinksAreThoseOfTheProblem) {
  std::vector<float> sinks = {0, -INFINITY, 1e30f, -3};
  args_.sinks = sinks;
  EXPECT_TRUE(Complains(Check(), {"sinks is given, expected none"}));
  inputs_.problem.sinks = true;
  EXPECT_TRUE(Check().ok()) << Check().message();
  args_.sinks = {};
  EXPECT_TRUE(Complains(Check(), {"sinks is not given"}));
  args_.sinks = ConstTensor(sinks.data(), {2});
  EXPECT_TRUE(Complains(Check(), {"sinks: shape is [2], expected f32 [heads] = [4]"}));
  args_.sinks = sinks;
  sinks[2] = 2e30f;
  EXPECT_TRUE(Complains(Check(), {"sinks[2] is 2e+30", "1e30"}));
  sinks[2] = NAN;
  EXPECT_TRUE(Complains(Check(), {"sinks[2] is nan"}));
  sinks[2] = INFINITY;
  EXPECT_TRUE(Complains(Check(), {"sinks[2] is inf", "-inf for none"}));
  args_.sinks.stride[0] = 0;  // one for all heads
  EXPECT_TRUE(Check().ok());
  args_.sinks = ConstTensor(lse_.data(), {4});
  EXPECT_TRUE(Complains(Check(), {"lse is in the memory of sinks"}));
}

TEST_F(CheckRunTest, LastStrideIsOneWhereItMatters) {
  std::vector<float> wide(2 * 2 * 7 * 8 * 2);
  args_.k = ConstTensor(wide.data(), {2, 2, 7, 16});
  args_.k.shape[3] = 8;
  args_.k.stride[3] = 2;
  EXPECT_TRUE(Complains(Check(), {"k: last stride is 2, expected 1"}));

  Problem problem = test::MakeProblem(2, 2, 1);
  Inputs inputs(problem, 3);
  RunArgs args = inputs.Args();
  args.q.stride[3] = 999;  // an axis of one element
  EXPECT_TRUE(CheckInputs(problem, args).ok());
}

TEST_F(CheckRunTest, NullIsFineWhereThereIsNothing) {
  Problem problem = test::MakeProblem(3, 0, 4);
  Inputs inputs(problem, 3);
  RunArgs args = inputs.Args();
  args.k.data = args.v.data = nullptr;
  EXPECT_TRUE(CheckInputs(problem, args).ok());
  args.q.data = nullptr;
  EXPECT_TRUE(Complains(CheckInputs(problem, args), {"q is a null pointer"}));
}

TEST_F(CheckRunTest, DataIsAligned) {
  args_.q.data = static_cast<const char*>(args_.q.data) + 2;
  EXPECT_TRUE(Complains(Check(), {"q: data is not aligned", "4 bytes"}));
}

TEST_F(CheckRunTest, OutputsHaveMemoryOfTheirOwn) {
  std::vector<float> shared(2 * 4 * 5 * 6 + 2 * 4 * 5);
  args_.out = Tensor(shared.data(), {2, 4, 5, 6});
  args_.lse = Tensor(shared.data() + 2 * 4 * 5 * 6, {2, 4, 5});
  EXPECT_TRUE(Check().ok());
  args_.lse = Tensor(shared.data() + 2 * 4 * 5 * 6 - 1, {2, 4, 5});
  EXPECT_TRUE(Complains(Check(), {"lse is in the memory of out"}));
  args_.lse = Tensor(const_cast<void*>(args_.v.data), DType::kF32, {2, 4, 5});
  EXPECT_TRUE(Complains(Check(), {"lse is in the memory of v"}));
  args_.lse = {};
  args_.out = Tensor(const_cast<void*>(args_.q.data), DType::kF32, {2, 4, 5, 6});
  EXPECT_TRUE(Complains(Check(), {"out is in the memory of q"}));
  args_.out = out_.View();
  args_.out.stride[1] = 0;
  EXPECT_TRUE(Complains(Check(), {"out: strides is [120, 0, 6, 1] for shape [2, 4, 5, 6]"}));
}

TEST_F(CheckRunTest, OutMayBeASliceOfAPackedBuffer) {
  Problem problem = test::MakeProblem(6, 6, 4);
  problem.batch = 2;
  problem.heads = problem.kv_heads = 3;
  std::vector<float> packed(2 * 6 * 4 * 3 * 4);
  const auto slice = [&](int n) {  // of [B, T, 4, H, D]
    Tensor view(packed.data() + n * 12, {2, 6, 3, 4});
    view.stride[0] = 6 * 48;
    view.stride[1] = 48;
    return view.SwapAxes(1, 2);
  };
  RunArgs args;
  args.q = slice(0);
  args.k = slice(1);
  args.v = slice(2);
  args.out = slice(3);
  EXPECT_TRUE(CheckRun(problem, args).ok());
  args.out = slice(2);
  EXPECT_TRUE(Complains(CheckRun(problem, args), {"out is in the memory of v"}));
}

TEST_F(CheckRunTest, WorkspaceAndThreads) {
  alignas(64) char memory[128];
  args_.workspace = memory;
  args_.workspace_bytes = 128;
  EXPECT_TRUE(Check().ok());
  args_.workspace = memory + 4;
  EXPECT_TRUE(Complains(Check(), {"workspace is 4 bytes beyond", "64"}));
  args_.workspace = nullptr;
  EXPECT_TRUE(Complains(Check(), {"workspace is null with 128 bytes"}));
  args_.workspace_bytes = 0;
  args_.threads = -4;
  EXPECT_TRUE(Complains(Check(), {"threads is -4"}));
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
