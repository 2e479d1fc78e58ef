// Flags: defaults that follow others, and whose flag an error of the library is.
#include "cli/flags.h"

#include "gtest/gtest.h"

namespace skipattn::cli {
namespace {

std::string MessageOf(const Status& status) {
  CLI::App command("", "explain");
  SizeFlags sizes{1, 1, 8, 8};
  sizes.AddTo(&command);
  try {
    Check(command, status);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

TEST(SizeFlags, FollowOneAnother) {
  SizeFlags sizes{2, 4, 8, 16};
  Problem problem = sizes.ToProblem();
  EXPECT_EQ(problem.kv_heads, 4);
  EXPECT_EQ(problem.k_len, 8);
  EXPECT_EQ(problem.v_dim, 16);
  sizes.kv_heads = 1;
  sizes.kv_seq = 9;
  sizes.v_dim = 3;
  problem = sizes.ToProblem();
  EXPECT_EQ(problem.kv_heads, 1);
  EXPECT_EQ(problem.k_len, 9);
  EXPECT_EQ(problem.v_dim, 3);
}

TEST(Check, NamesTheFlagOfTheArgument) {
  EXPECT_EQ(MessageOf(Status()), "");
  EXPECT_EQ(MessageOf(Status::InvalidArgument("kv_heads is 5, expected 4")),
            "--kv-heads: kv_heads is 5, expected 4");
  EXPECT_EQ(MessageOf(Status::InvalidArgument("q_len is -1")), "--seq: q_len is -1");
  EXPECT_EQ(MessageOf(Status::InvalidArgument("k_len: too long")), "--kv-seq: k_len: too long");
  EXPECT_EQ(MessageOf(Status::InvalidArgument("scale is 0")), "explain: scale is 0");
  EXPECT_EQ(MessageOf(Status(StatusCode::kInternal, "q_len broke")), "q_len broke");
}

TEST(ParseInteger, TakesNothingElse) {
  int64_t value = 0;
  EXPECT_TRUE(ParseInteger("-12", &value));
  EXPECT_EQ(value, -12);
  for (const char* bad : {"", "1x", " 1", "1.5", "99999999999999999999"}) {
    EXPECT_FALSE(ParseInteger(bad, &value)) << bad;
  }
}

}  // namespace
}  // namespace skipattn::cli
