// The C interface's structs as C++ types: everything arrives, and what C++ types cannot hold is an
// error.
#include "runtime/c_convert.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

using test::Complains;

TEST(CConvertTest, TensorsArrive) {
  float element = 0;
  skipattn_tensor given = SKIPATTN_TENSOR_INIT;
  given.data = &element;
  given.dtype = SKIPATTN_BF16;
  given.rank = 3;
  for (int axis = 0; axis < 4; ++axis) {
    given.shape[axis] = 10 + axis;
    given.stride[axis] = -2 * axis;
  }
  Tensor tensor;
  ASSERT_TRUE(ReadTensor("q", &given, &tensor).ok());
  EXPECT_EQ(tensor.data, &element);
  EXPECT_EQ(tensor.dtype, DType::kBF16);
  EXPECT_EQ(tensor.rank, 3);
  EXPECT_EQ(tensor.shape[2], 12);
  EXPECT_EQ(tensor.stride[2], -4);
}

TEST(CConvertTest, TensorsOfNoTypeOrRankAreErrors) {
  Tensor tensor;
  for (int32_t dtype : {-1, 6, 77, 255, 256, 256 + SKIPATTN_BOOL, INT32_MIN, INT32_MAX}) {
    skipattn_tensor given = SKIPATTN_TENSOR_INIT;
    given.dtype = dtype;
    EXPECT_TRUE(Complains(ReadTensor("q", &given, &tensor),
                          {"q: dtype is " + std::to_string(dtype), "SKIPATTN_F32"}));
  }
  for (int32_t rank : {-1, 5, INT32_MIN, INT32_MAX}) {
    skipattn_tensor given = SKIPATTN_TENSOR_INIT;
    given.rank = rank;
    EXPECT_TRUE(Complains(ReadTensor("q", &given, &tensor),
                          {"q: rank is " + std::to_string(rank), "to 4"}));
  }
}

TEST(CConvertTest, DiagonalsArrive) {
  const int64_t each[2] = {1, 2};
  const skipattn_tensor offsets = test::CView(ConstTensor(each, {2}));
  skipattn_diagonal given = SKIPATTN_DIAGONAL_INIT;
  mask::Diagonal none;
  ASSERT_TRUE(ReadDiagonal(nullptr, &none).ok());
  ASSERT_TRUE(ReadDiagonal(&given, &none).ok());
  EXPECT_FALSE(none.align.has_value() || none.offset.has_value() || none.offsets.given());
  given.align = SKIPATTN_ALIGN_BOTTOM_RIGHT;
  given.has_offset = 1;
  given.offset = -7;
  given.offsets = &offsets;
  mask::Diagonal all;
  ASSERT_TRUE(ReadDiagonal(&given, &all).ok());
  EXPECT_EQ(all.align, mask::Align::kBottomRight);
  EXPECT_EQ(all.offset, -7);
  EXPECT_EQ(all.offsets.data, each);
  given.align = SKIPATTN_ALIGN_TOP_LEFT;
  ASSERT_TRUE(ReadDiagonal(&given, &all).ok());
  EXPECT_EQ(all.align, mask::Align::kTopLeft);
  for (int32_t align : {-1, 3, 257}) {
    given.align = align;
    EXPECT_TRUE(Complains(ReadDiagonal(&given, &all),
                          {"diagonal: align is " + std::to_string(align), "bottom_right"}));
  }
}

TEST(CConvertTest, ProblemsArrive) {
  skipattn_problem given = SKIPATTN_PROBLEM_INIT;
  given.batch = 1;
  given.heads = 2;
  given.kv_heads = 3;
  given.q_len = 4;
  given.k_len = 5;
  given.dim = 6;
  given.v_dim = 7;
  given.q_dtype = SKIPATTN_F16;
  given.kv_dtype = SKIPATTN_BF16;
  given.out_dtype = SKIPATTN_I32;
  given.has_sinks = given.has_bias = 256;
  Problem p;
  ASSERT_TRUE(ReadProblem(&given, &p).ok());
  const std::vector<int64_t> sizes = {p.batch, p.heads, p.kv_heads, p.q_len,
                                      p.k_len, p.dim,   p.v_dim};
  EXPECT_EQ(sizes, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(p.q_dtype, DType::kF16);
  EXPECT_EQ(p.kv_dtype, DType::kBF16);
  EXPECT_EQ(p.out_dtype, DType::kI32);
  EXPECT_TRUE(p.sinks && p.bias);

  struct Named {
    const char* name;
    int32_t skipattn_problem::*field;
  };
  for (const Named& one : {Named{"q_dtype", &skipattn_problem::q_dtype},
                           Named{"kv_dtype", &skipattn_problem::kv_dtype},
                           Named{"out_dtype", &skipattn_problem::out_dtype}}) {
    skipattn_problem bad = given;
    bad.*one.field = 256;  // would be 0 in a byte
    EXPECT_TRUE(Complains(ReadProblem(&bad, &p), {std::string(one.name) + " is 256"}));
  }
  given.reserved = 1;
  EXPECT_TRUE(Complains(ReadProblem(&given, &p), {"problem: reserved is 1, expected 0"}));
}

void RunNothing(void*, int, skipattn_work, void*) {}
void* GiveNothing(void*, size_t, size_t) { return nullptr; }
void TakeNothing(void*, void*, size_t) {}

TEST(CConvertTest, OptionsArrive) {
  const int64_t origins[2] = {5, -6};
  int context = 0;
  skipattn_options given = SKIPATTN_OPTIONS_INIT;
  AttentionOptions options;
  Allocator allocator;
  Bias bias;
  ASSERT_TRUE(ReadOptions(nullptr, &options, &bias, &allocator).ok());
  ASSERT_TRUE(ReadOptions(&given, &options, &bias, &allocator).ok());
  EXPECT_EQ(bias.term(), nullptr);
  EXPECT_TRUE(options.bias_is_mask);
  EXPECT_FALSE(options.scale.has_value());
  EXPECT_TRUE(options.key_origin.empty() && options.target.empty() && options.config.empty());
  EXPECT_EQ(options.parallel_for.run, nullptr);
  EXPECT_EQ(allocator.allocate, nullptr);

  given.has_scale = 1;  // and the scale is 0, which is a scale
  given.softcap = 30;
  given.empty_rows = SKIPATTN_EMPTY_ROWS_NAN;
  given.backend = SKIPATTN_BACKEND_REFERENCE;
  given.skipping = SKIPATTN_SKIPPING_OFF;
  given.threads = 3;
  given.key_origin = origins;
  given.key_origin_count = 2;
  given.target = "a target";
  given.config = "a config";
  given.parallel_for = RunNothing;
  given.allocate = GiveNothing;
  given.deallocate = TakeNothing;
  given.parallel_for_context = given.allocator_context = &context;
  const float slope = 1;
  const skipattn_bias handle = {bias::Alibi(ConstTensor(&slope, {1}))};
  given.bias = &handle;
  given.bias_not_mask = 256;
  ASSERT_TRUE(ReadOptions(&given, &options, &bias, &allocator).ok());
  EXPECT_EQ(bias.term(), handle.bias.term());
  EXPECT_FALSE(options.bias_is_mask);
  EXPECT_EQ(options.scale, 0.0);
  EXPECT_EQ(options.softcap, 30);
  EXPECT_EQ(options.empty_rows, EmptyRows::kNan);
  EXPECT_EQ(options.precision, Precision::kExact);
  EXPECT_EQ(options.backend, Backend::kReference);
  EXPECT_EQ(options.skipping, Skipping::kOff);
  EXPECT_EQ(options.threads, 3);
  EXPECT_EQ(options.key_origin, (std::vector<int64_t>{5, -6}));
  EXPECT_EQ(options.target, "a target");
  EXPECT_EQ(options.config, "a config");
  EXPECT_EQ(options.parallel_for.run, &RunNothing);
  EXPECT_EQ(options.parallel_for.context, &context);
  EXPECT_EQ(allocator.allocate, &GiveNothing);
  EXPECT_EQ(allocator.deallocate, &TakeNothing);
  EXPECT_EQ(allocator.context, &context);
  given.reserved = 1;
  EXPECT_TRUE(Complains(ReadOptions(&given, &options, &bias, &allocator),
                        {"options: reserved is 1, expected 0"}));
}

TEST(CConvertTest, WrongOptionsAreErrors) {
  const skipattn_problem problem = test::CProblem(test::MakeProblem(2, 2, 4));
  const test::CMask mask = test::CausalMask();
  const auto create = [&](const skipattn_options& options) {
    skipattn_plan* plan = nullptr;
    const skipattn_status status = skipattn_plan_create(&problem, mask.get(), &options, &plan);
    EXPECT_EQ(plan, nullptr);
    skipattn_plan_free(plan);
    return status;
  };
  struct Named {
    const char* name;
    int32_t skipattn_options::*field;
  };
  for (const Named& one : {Named{"empty_rows", &skipattn_options::empty_rows},
                           Named{"precision", &skipattn_options::precision},
                           Named{"backend", &skipattn_options::backend},
                           Named{"skipping", &skipattn_options::skipping}}) {
    for (int32_t value : {-1, 100, 255, 256, 257, INT32_MAX, INT32_MIN}) {
      skipattn_options options = SKIPATTN_OPTIONS_INIT;
      options.*one.field = value;
      const std::string is = std::string(one.name) + " is " + std::to_string(value);
      EXPECT_TRUE(test::CComplains(create(options), {is, "expected"}));
    }
  }
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  options.threads = -1;
  EXPECT_TRUE(test::CComplains(create(options), {"threads is -1"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.has_scale = 1;
  options.scale = NAN;
  EXPECT_TRUE(test::CComplains(create(options), {"scale is nan"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.softcap = -1;
  EXPECT_TRUE(test::CComplains(create(options), {"softcap is -1", "0 (none)"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.key_origin_count = 1;
  EXPECT_TRUE(test::CComplains(create(options), {"key_origin is a null pointer", "1 values"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.target = "PDP-11";
  EXPECT_TRUE(test::CComplains(create(options), {"target is \"PDP-11\"", "expected one of"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.allocate = GiveNothing;
  EXPECT_TRUE(test::CComplains(create(options), {"deallocate is a null pointer"}));
  options = SKIPATTN_OPTIONS_INIT;
  options.deallocate = TakeNothing;
  EXPECT_TRUE(test::CComplains(create(options), {"allocate is a null pointer"}));
}

TEST(CConvertTest, RunArgsArrive) {
  float element = 0;
  alignas(64) char workspace[64];
  skipattn_tensor tensors[13];
  for (int n = 0; n < 13; ++n) tensors[n] = test::CView(ConstTensor(&element, {n + 1}));
  skipattn_carry in = SKIPATTN_CARRY_INIT, out = SKIPATTN_CARRY_INIT;
  skipattn_run_args given = SKIPATTN_RUN_ARGS_INIT;
  RunArgs args;
  ASSERT_TRUE(ReadRunArgs(&given, &args).ok());
  EXPECT_FALSE(args.q.given() || args.lse.given() || args.sinks.given());
  given.q = &tensors[0];
  given.k = &tensors[1];
  given.v = &tensors[2];
  given.out = &tensors[3];
  given.lse = &tensors[4];
  given.sinks = &tensors[5];
  given.bias = &tensors[6];
  in = {sizeof(in), &tensors[7], &tensors[8], &tensors[9]};
  out = {sizeof(out), &tensors[10], &tensors[11], &tensors[12]};
  given.carry_in = &in;
  given.carry_out = &out;
  given.workspace = workspace;
  given.workspace_bytes = sizeof(workspace);
  given.threads = 7;
  ASSERT_TRUE(ReadRunArgs(&given, &args).ok());
  EXPECT_EQ(args.q.shape[0], 1);
  EXPECT_EQ(args.k.shape[0], 2);
  EXPECT_EQ(args.v.shape[0], 3);
  EXPECT_EQ(args.out.shape[0], 4);
  EXPECT_EQ(args.lse.shape[0], 5);
  EXPECT_EQ(args.sinks.shape[0], 6);
  EXPECT_EQ(args.bias.shape[0], 7);
  EXPECT_EQ(args.carry_in.max.shape[0], 8);
  EXPECT_EQ(args.carry_in.sum.shape[0], 9);
  EXPECT_EQ(args.carry_in.out.shape[0], 10);
  EXPECT_EQ(args.carry_out.max.shape[0], 11);
  EXPECT_EQ(args.carry_out.sum.shape[0], 12);
  EXPECT_EQ(args.carry_out.out.shape[0], 13);
  tensors[8].rank = 9;
  EXPECT_TRUE(Complains(ReadRunArgs(&given, &args), {"carry_in.sum: rank is 9"}));
  tensors[8].rank = 1;
  out.struct_size = 3;
  EXPECT_TRUE(Complains(ReadRunArgs(&given, &args), {"carry_out", "SKIPATTN_CARRY_INIT"}));
  given.carry_out = nullptr;
  EXPECT_EQ(args.workspace, workspace);
  EXPECT_EQ(args.workspace_bytes, sizeof(workspace));
  EXPECT_EQ(args.threads, 7);
  given.reserved = 1;
  EXPECT_TRUE(Complains(ReadRunArgs(&given, &args), {"args: reserved is 1, expected 0"}));
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
