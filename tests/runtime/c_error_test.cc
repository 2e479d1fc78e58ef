// Failures of the C interface: statuses, exceptions, and the last message of each thread.
#include "runtime/c_error.h"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

TEST(CErrorTest, AStatusBecomesANumberAndAMessage) {
  EXPECT_EQ(Guard([] { return Status::InvalidArgument("x is 1, expected 2"); }),
            SKIPATTN_INVALID_ARGUMENT);
  EXPECT_STREQ(skipattn_last_error(), "x is 1, expected 2");
  EXPECT_EQ(Guard([] { return Status(); }), SKIPATTN_OK);
  EXPECT_STREQ(skipattn_last_error(), "x is 1, expected 2") << "success says nothing";
  EXPECT_EQ(Report(NullArgument("mask", "a mask")), SKIPATTN_INVALID_ARGUMENT);
  EXPECT_STREQ(skipattn_last_error(), "mask is a null pointer, expected a mask");
}

TEST(CErrorTest, WhatIsThrownStaysInside) {
  EXPECT_EQ(Guard([]() -> Status { throw std::bad_alloc(); }), SKIPATTN_OUT_OF_MEMORY);
  EXPECT_STREQ(skipattn_last_error(), "out of memory");
  EXPECT_EQ(Guard([]() -> Status { throw std::runtime_error("a reason"); }), SKIPATTN_INTERNAL);
  EXPECT_STREQ(skipattn_last_error(), "a reason");
  EXPECT_EQ(Guard([]() -> Status { throw 1; }), SKIPATTN_INTERNAL);
  EXPECT_STREQ(skipattn_last_error(), "an exception of an unknown type");
}

TEST(CErrorTest, LongMessagesAreCut) {
  for (size_t length : {1022, 1023, 1024, 5000}) {
    std::string message(length, 'x');
    EXPECT_EQ(Report(Status::InvalidArgument(message)), SKIPATTN_INVALID_ARGUMENT);
    if (length > 1023) message = std::string(1020, 'x') + "...";
    EXPECT_EQ(skipattn_last_error(), message) << length;
  }
  EXPECT_EQ(Report(Status::InvalidArgument("short")), SKIPATTN_INVALID_ARGUMENT);
  EXPECT_STREQ(skipattn_last_error(), "short");
}

TEST(CErrorTest, EachThreadHasItsOwn) {
  EXPECT_EQ(skipattn_mask_everything(nullptr), SKIPATTN_INVALID_ARGUMENT);
  const std::string mine = skipattn_last_error();
  std::string before = "?", after;
  std::thread([&] {
    before = skipattn_last_error();
    EXPECT_EQ(skipattn_target_count(nullptr), SKIPATTN_INVALID_ARGUMENT);
    after = skipattn_last_error();
  }).join();
  EXPECT_EQ(before, "");
  EXPECT_EQ(after.substr(0, 5), "count");
  EXPECT_EQ(mine.substr(0, 4), "mask");
  EXPECT_EQ(skipattn_last_error(), mine);
}

}  // namespace
}  // namespace internal
}  // namespace v0
}  // namespace skipattn
