// Structs of callers that were compiled against an older or a newer header.
#include "runtime/c_struct.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr size_t kSize = sizeof(skipattn_options);

/// A struct of `size` bytes with 0x55 in all fields, aligned as structs are.
std::vector<uint64_t> Caller(size_t size) {
  std::vector<uint64_t> memory(size / 8, 0x5555555555555555);
  std::memcpy(memory.data(), &size, sizeof(size));
  return memory;
}

skipattn_options* AsOptions(std::vector<uint64_t>& memory) {
  return reinterpret_cast<skipattn_options*>(memory.data());
}

TEST(CStructTest, FieldsThatAnOlderCallerLacksAreZero) {
  for (size_t size = 16; size <= kSize; size += 8) {
    std::vector<uint64_t> memory = Caller(size);
    unsigned char bytes[kSize];
    skipattn_options full;
    std::memset(&full, 0xAA, sizeof(full));
    const Status status = ReadStruct("options", AsOptions(memory), &full);
    ASSERT_TRUE(status.ok()) << status.message();
    std::memcpy(bytes, &full, kSize);
    for (size_t n = sizeof(size_t); n < kSize; ++n) EXPECT_EQ(bytes[n], n < size ? 0x55 : 0) << n;
  }
}

TEST(CStructTest, FieldsThatTheLibraryLacksMustBeZero) {
  std::vector<uint64_t> memory = Caller(kSize + 24);
  skipattn_options full;
  for (size_t word = kSize / 8; word < memory.size(); ++word) memory[word] = 0;
  EXPECT_TRUE(ReadStruct("options", AsOptions(memory), &full).ok());
  for (size_t byte = kSize; byte < kSize + 24; ++byte) {
    unsigned char* at = reinterpret_cast<unsigned char*>(memory.data()) + byte;
    *at = 1;
    EXPECT_TRUE(test::Complains(
        ReadStruct("options", AsOptions(memory), &full),
        {"options: struct_size is " + std::to_string(kSize + 24),
         "byte " + std::to_string(byte) + " is not 0", Version(), "newer library"}));
    *at = 0;
  }
}

TEST(CStructTest, SizesThatNoStructHasAreErrors) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{8}, size_t{12}, kSize - 1, kSize + 1, kSize + 4,
                      size_t{4104}, size_t{1} << 40, SIZE_MAX}) {
    std::vector<uint64_t> memory = Caller(kSize);
    std::memcpy(memory.data(), &size, sizeof(size));
    skipattn_options full;
    const std::vector<std::string> parts = {"options: struct_size is " + std::to_string(size),
                                            std::to_string(kSize), "SKIPATTN_OPTIONS_INIT"};
    EXPECT_TRUE(test::Complains(ReadStruct("options", AsOptions(memory), &full), parts));
    EXPECT_TRUE(test::Complains(WriteStruct("options", full, AsOptions(memory)), parts));
  }
  skipattn_options full;
  const skipattn_options* none = nullptr;
  EXPECT_TRUE(test::Complains(ReadStruct("options", none, &full),
                              {"options is a null pointer", "SKIPATTN_OPTIONS_INIT"}));
}

TEST(CStructTest, AsMuchIsWrittenAsTheCallerKnows) {
  skipattn_options full;
  std::memset(&full, 0x77, sizeof(full));
  for (size_t size : {size_t{16}, kSize - 8, kSize, kSize + 24}) {
    std::vector<uint64_t> memory = Caller(kSize + 48);
    std::memcpy(memory.data(), &size, sizeof(size));
    ASSERT_TRUE(WriteStruct("options", full, AsOptions(memory)).ok());
    EXPECT_EQ(memory[0], size);
    for (size_t word = 1; word < memory.size(); ++word) {
      const uint64_t within = 8 * word < kSize ? 0x7777777777777777 : 0;
      EXPECT_EQ(memory[word], 8 * word < size ? within : 0x5555555555555555) << size << " " << word;
    }
  }
}

// Every struct that functions take is read by its size: none is taken as it is.
TEST(CStructTest, EveryArgumentIsLookedAt) {
  const auto zero_size = [](const char* name) {
    return std::vector<std::string>{std::string(name) + ": struct_size is 0", "_INIT"};
  };
  const test::CMask mask = test::CausalMask();
  skipattn_mask* made = nullptr;
  skipattn_plan* plan = nullptr;
  skipattn_tensor tensor = SKIPATTN_TENSOR_INIT;
  skipattn_diagonal diagonal = SKIPATTN_DIAGONAL_INIT;
  skipattn_problem problem = test::CProblem(test::MakeProblem(1, 1, 1));
  skipattn_options options = SKIPATTN_OPTIONS_INIT;
  skipattn_run_args args = SKIPATTN_RUN_ARGS_INIT;
  skipattn_stats stats = SKIPATTN_STATS_INIT;
  skipattn_target_info info = SKIPATTN_TARGET_INFO_INIT;
  ASSERT_EQ(skipattn_plan_create(&problem, mask.get(), &options, &plan), SKIPATTN_OK);
  const test::CPlan kept(plan);
  tensor.struct_size = diagonal.struct_size = problem.struct_size = options.struct_size = 0;
  args.struct_size = stats.struct_size = info.struct_size = 0;
  using test::CComplains;
  EXPECT_TRUE(CComplains(skipattn_mask_key_lengths(&tensor, &made), zero_size("lengths")));
  EXPECT_TRUE(CComplains(skipattn_mask_causal(&diagonal, &made), zero_size("diagonal")));
  EXPECT_TRUE(
      CComplains(skipattn_plan_create(&problem, mask.get(), nullptr, &plan), zero_size("problem")));
  problem.struct_size = sizeof(problem);
  EXPECT_TRUE(CComplains(skipattn_plan_create(&problem, mask.get(), &options, &plan),
                         zero_size("options")));
  EXPECT_TRUE(CComplains(skipattn_attention(&args, mask.get(), nullptr), zero_size("args")));
  EXPECT_TRUE(CComplains(skipattn_plan_get_stats(kept.get(), &stats), zero_size("stats")));
  EXPECT_TRUE(CComplains(skipattn_target_get(0, &info), zero_size("info")));
  args.struct_size = sizeof(args);
  args.q = &tensor;
  EXPECT_TRUE(CComplains(skipattn_plan_run(kept.get(), &args), zero_size("q")));
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
