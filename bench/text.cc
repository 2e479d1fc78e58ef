// Splitting text into paragraphs, words and numbers.
#include "bench/text.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/hash.h"

namespace skipattn::bench {
namespace {

// Not <cctype>: a file has to give the same tokens in every locale.
bool IsSpace(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool IsWord(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         static_cast<unsigned char>(c) >= 0x80;
}

bool IsBlank(std::string_view line) {
  for (char c : line) {
    if (!IsSpace(c)) return false;
  }
  return true;
}

void AppendTokens(std::string_view text, Tokens* tokens) {
  for (size_t begin = 0; begin < text.size();) {
    size_t end = begin + 1;
    if (IsWord(text[begin])) {
      while (end < text.size() && IsWord(text[end])) ++end;
    }
    if (!IsSpace(text[begin])) tokens->push_back(Fnv1a64(text.data() + begin, end - begin));
    begin = end;
  }
}

}  // namespace

Tokens Tokenize(std::string_view text) {
  Tokens tokens;
  AppendTokens(text, &tokens);
  return tokens;
}

std::vector<Tokens> TokenizeParagraphs(std::string_view text) {
  std::vector<Tokens> paragraphs;
  bool open = false;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (IsBlank(line)) {
      open = false;
      continue;
    }
    if (!open) paragraphs.emplace_back();
    open = true;
    AppendTokens(line, &paragraphs.back());
  }
  return paragraphs;
}

Result<std::string> ReadFile(const std::string& path) {
  // Opening a directory succeeds, and reading it throws.
  std::error_code ignored;
  const bool directory = std::filesystem::is_directory(path, ignored);
  std::ifstream file(path, std::ios::binary);
  if (!file || directory) return Status::InvalidArgument('"' + path + "\" cannot be read");
  return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

Result<std::vector<int64_t>> ParseLengths(std::string_view text) {
  std::vector<int64_t> lengths;
  for (size_t begin = 0; begin < text.size();) {
    if (IsSpace(text[begin])) {
      ++begin;
      continue;
    }
    size_t end = begin;
    while (end < text.size() && !IsSpace(text[end])) ++end;
    const std::string_view word = text.substr(begin, end - begin);
    int64_t length = 0;
    const auto parsed = std::from_chars(word.data(), word.data() + word.size(), length);
    if (parsed.ec != std::errc() || parsed.ptr != word.data() + word.size() || length < 1) {
      return Status::InvalidArgument("a length is \"" + std::string(word) +
                                     "\", expected a number from 1");
    }
    lengths.push_back(length);
    begin = end;
  }
  return lengths;
}

}  // namespace skipattn::bench
