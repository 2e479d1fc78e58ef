// Text as input: paragraphs of a file become the sequences of a batch.
#ifndef SKIPATTN_BENCH_TEXT_H_
#define SKIPATTN_BENCH_TEXT_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "skipattn/status.h"

namespace skipattn::bench {

/// The ids of the tokens of one sequence.
using Tokens = std::vector<uint64_t>;

/// A token is a word (letters, digits and everything beyond ASCII) or a single punctuation mark.
/// Its id is a hash of its bytes, so no vocabulary is needed.
Tokens Tokenize(std::string_view text);

/// The token lists of the paragraphs, which blank lines separate.
std::vector<Tokens> TokenizeParagraphs(std::string_view text);

/// An error that names the file where it cannot be read.
Result<std::string> ReadFile(const std::string& path);

/// Numbers separated by white space; an error names what is not a positive number.
Result<std::vector<int64_t>> ParseLengths(std::string_view text);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_TEXT_H_
