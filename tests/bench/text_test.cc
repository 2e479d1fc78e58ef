// Text: words, punctuation, paragraphs, files of lengths.
#include "bench/text.h"

#include <cstdio>
#include <fstream>

#include "gtest/gtest.h"

namespace skipattn::bench {
namespace {

std::vector<size_t> Sizes(std::string_view text) {
  std::vector<size_t> sizes;
  for (const Tokens& tokens : TokenizeParagraphs(text)) sizes.push_back(tokens.size());
  return sizes;
}

TEST(Tokenize, WordsAndPunctuationMarks) {
  EXPECT_EQ(Tokenize("one two").size(), 2u);
  EXPECT_EQ(Tokenize("  one,\ttwo...\n").size(), 6u);
  EXPECT_EQ(Tokenize("na\xC3\xAFve caf\xC3\xA9").size(), 2u);
  EXPECT_TRUE(Tokenize(" \t ").empty());
}

TEST(Tokenize, EqualWordsHaveEqualIds) {
  const Tokens tokens = Tokenize("the cat, the Cat");
  ASSERT_EQ(tokens.size(), 5u);
  EXPECT_EQ(tokens[0], tokens[3]);
  EXPECT_NE(tokens[1], tokens[4]);
  EXPECT_NE(tokens[0], tokens[1]);
}

TEST(TokenizeParagraphs, BlankLinesSeparate) {
  EXPECT_EQ(Sizes("a b\nc\n\nd"), (std::vector<size_t>{3, 1}));
  EXPECT_EQ(Sizes("\n\n a\n \t\n\nb c\n\n"), (std::vector<size_t>{1, 2}));
  EXPECT_EQ(Sizes("a\r\n\r\nb\r\n"), (std::vector<size_t>{1, 1}));
  EXPECT_TRUE(Sizes("").empty());
  EXPECT_TRUE(Sizes(" \n\n").empty());
}

TEST(ReadFile, GivesAllBytesOrNamesTheFile) {
  const std::string path = ::testing::TempDir() + "text_test_input";
  std::ofstream(path, std::ios::binary) << "a\r\nb" << '\0';
  const Result<std::string> text = ReadFile(path);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(text->size(), 5u);
  std::remove(path.c_str());
  EXPECT_NE(ReadFile(path).status().message().find(path), std::string::npos);
  EXPECT_FALSE(ReadFile(::testing::TempDir()).ok());
}

TEST(ParseLengths, NumbersOrAnErrorThatNamesTheWord) {
  const Result<std::vector<int64_t>> lengths = ParseLengths(" 5 12\n7\n");
  ASSERT_TRUE(lengths.ok());
  EXPECT_EQ(*lengths, (std::vector<int64_t>{5, 12, 7}));
  for (const char* bad : {"5 x", "5,6", "0", "-1", "99999999999999999999"}) {
    EXPECT_FALSE(ParseLengths(bad).ok()) << bad;
  }
  EXPECT_NE(ParseLengths("5 six").status().message().find("six"), std::string::npos);
}

}  // namespace
}  // namespace skipattn::bench
