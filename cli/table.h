// Text tables for people: aligned columns, and bars.
#ifndef SKIPATTN_CLI_TABLE_H_
#define SKIPATTN_CLI_TABLE_H_

#include <string>
#include <string_view>
#include <vector>

namespace skipattn::cli {

class Table {
 public:
  /// Columns are aligned to the right, those whose title begins with '<' (not shown) to the left.
  explicit Table(const std::vector<std::string>& titles);

  /// One cell for each column.
  void Add(const std::vector<std::string>& cells);

  /// Title line and rows, each ended by a newline, no trailing blanks.
  std::string ToString() const;

 private:
  std::vector<bool> left_;
  std::vector<std::vector<std::string>> rows_;
};

/// Places that UTF-8 text without wide characters takes up.
size_t DisplayWidth(std::string_view text);

/// A bar of `width` places whose filled part is `share` (cut to [0, 1]) of it, in eighths, with a
/// line at `mark`.
std::string Bar(double share, double mark, int width);

/// `value` with so many digits behind the point.
std::string Fixed(double value, int digits);

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_TABLE_H_
