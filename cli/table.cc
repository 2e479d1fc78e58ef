// Tables and bars.
#include "cli/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace skipattn::cli {

Table::Table(const std::vector<std::string>& titles) : rows_(1) {
  for (const std::string& title : titles) {
    left_.push_back(!title.empty() && title[0] == '<');
    rows_[0].push_back(left_.back() ? title.substr(1) : title);
  }
}

void Table::Add(const std::vector<std::string>& cells) { rows_.push_back(cells); }

std::string Table::ToString() const {
  std::vector<size_t> widths(left_.size(), 0);
  for (const auto& row : rows_) {
    for (size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], DisplayWidth(row[n]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (size_t n = 0; n < row.size(); ++n) {
      const std::string blanks(widths[n] - DisplayWidth(row[n]), ' ');
      line += (n == 0 ? "" : "  ") + (left_[n] ? row[n] + blanks : blanks + row[n]);
    }
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text;
}

size_t DisplayWidth(std::string_view text) {
  // Every byte but the continuation bytes of UTF-8 begins a character.
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Bar(double share, double mark, int width) {
  static const char* const kEighths[] = {"·", "▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"};
  const int filled = static_cast<int>(std::lround(std::clamp(share, 0., 1.) * width * 8));
  const int mark_at = std::min(static_cast<int>(std::clamp(mark, 0., 1.) * width), width - 1);
  std::string bar;
  for (int n = 0; n < width; ++n) {
    bar += n == mark_at ? "┃" : kEighths[std::clamp(filled - 8 * n, 0, 8)];
  }
  return bar;
}

std::string Fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof(text), "%.*f", digits, value);
  return text;
}

}  // namespace skipattn::cli
