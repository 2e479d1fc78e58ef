// What the C interface tells about the library.
#include <gtest/gtest.h>

#include <string>

#include "runtime/parallel.h"
#include "skipattn/attention.h"
#include "tests/runtime/c_util.h"

namespace skipattn {
inline namespace v0 {
namespace {

using test::CComplains;

TEST(CInfoTest, FeaturesAreWhatTheLibraryCanDo) {
  EXPECT_EQ(skipattn_has_feature("openmp"), internal::HasOpenMP() ? 1 : 0);
  for (const char* name : {"", "OpenMP", "openmp ", "unknown", "bool", "i32", "i64"}) {
    EXPECT_EQ(skipattn_has_feature(name), 0) << name;
  }
  for (DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    Problem problem = test::MakeProblem(2, 2, 8);
    problem.q_dtype = problem.kv_dtype = problem.out_dtype = dtype;
    EXPECT_EQ(skipattn_has_feature(DTypeName(dtype)), MakePlan(problem, {}).ok() ? 1 : 0)
        << DTypeName(dtype);
  }
}

TEST(CInfoTest, NamesBeyondTheLastAreErrors) {
  size_t count = 0;
  ASSERT_EQ(skipattn_target_count(&count), SKIPATTN_OK);
  skipattn_target_info info = SKIPATTN_TARGET_INFO_INIT;
  EXPECT_TRUE(CComplains(skipattn_target_get(count, &info),
                         {"index is " + std::to_string(count), "less than"}));
  EXPECT_EQ(info.name, nullptr);
  ASSERT_EQ(skipattn_config_count(nullptr, &count), SKIPATTN_OK);
  const char* name = nullptr;
  EXPECT_TRUE(CComplains(skipattn_config_get(nullptr, count, &name),
                         {"index is " + std::to_string(count), "less than"}));
  EXPECT_EQ(name, nullptr);
}

TEST(CInfoTest, UnknownTargetsAreErrors) {
  size_t count = 7;
  const char* name = nullptr;
  const std::vector<std::string> parts = {"target is \"VAX\"", BestTarget()};
  EXPECT_TRUE(CComplains(skipattn_config_count("VAX", &count), parts));
  EXPECT_TRUE(CComplains(skipattn_config_get("VAX", 0, &name), parts));
  EXPECT_EQ(count, 7u);
}

TEST(CInfoTest, NamesStayWhereTheyAre) {
  skipattn_target_info first = SKIPATTN_TARGET_INFO_INIT, again = SKIPATTN_TARGET_INFO_INIT;
  ASSERT_EQ(skipattn_target_get(0, &first), SKIPATTN_OK);
  ASSERT_EQ(skipattn_target_get(0, &again), SKIPATTN_OK);
  EXPECT_EQ(first.name, again.name);
  const char *config = nullptr, *same = nullptr;
  ASSERT_EQ(skipattn_config_get(nullptr, 0, &config), SKIPATTN_OK);
  ASSERT_EQ(skipattn_config_get("", 0, &same), SKIPATTN_OK);
  EXPECT_EQ(config, same);
}

}  // namespace
}  // namespace v0
}  // namespace skipattn
