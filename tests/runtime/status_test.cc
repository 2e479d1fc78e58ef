#include "skipattn/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "skipattn/tensor.h"
#include "skipattn/version.h"

namespace skipattn {
namespace {

TEST(StatusTest, DefaultIsSuccess) {
  const Status status;
  EXPECT_TRUE(status.ok());
  EXPECT_EQ(status.code(), StatusCode::kOk);
  EXPECT_EQ(status.message(), "");
}

TEST(StatusTest, ErrorsKeepCodeAndMessage) {
  const Status wrong = Status::InvalidArgument("q is odd, expected even");
  EXPECT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(wrong.message(), "q is odd, expected even");
  EXPECT_EQ(Status(StatusCode::kOutOfMemory, "").code(), StatusCode::kOutOfMemory);
}

TEST(ResultTest, HoldsAValueOrAnError) {
  Result<std::unique_ptr<int>> value(std::make_unique<int>(7));
  ASSERT_TRUE(value.ok());
  EXPECT_TRUE(value.status().ok());
  EXPECT_EQ(**value, 7);
  const std::unique_ptr<int> moved = std::move(value).value();
  EXPECT_EQ(*moved, 7);

  const Result<std::string> error(Status::InvalidArgument("no"));
  EXPECT_FALSE(error.ok());
  EXPECT_EQ(error.status().message(), "no");
}

TEST(DTypeTest, NamesAndSizes) {
  const struct {
    DType dtype;
    const char* name;
    size_t size;
  } types[] = {{DType::kF32, "f32", 4},   {DType::kBF16, "bf16", 2}, {DType::kF16, "f16", 2},
               {DType::kBool, "bool", 1}, {DType::kI32, "i32", 4},   {DType::kI64, "i64", 8}};
  for (const auto& type : types) {
    EXPECT_STREQ(DTypeName(type.dtype), type.name);
    EXPECT_EQ(DTypeSize(type.dtype), type.size);
  }
  EXPECT_STREQ(DTypeName(static_cast<DType>(99)), "unknown");
  EXPECT_EQ(DTypeSize(static_cast<DType>(99)), 0u);
}

TEST(VersionTest, IsThatOfTheHeader) {
  EXPECT_EQ(std::string(Version()), std::to_string(SKIPATTN_VERSION_MAJOR) + "." +
                                        std::to_string(SKIPATTN_VERSION_MINOR) + "." +
                                        std::to_string(SKIPATTN_VERSION_PATCH));
}

// A new number is a promise broken for everyone who stored results: see reference/README.md.
TEST(VersionTest, ArithmeticIsTheFirst) { EXPECT_EQ(ArithmeticVersion(), 1); }

}  // namespace
}  // namespace skipattn
