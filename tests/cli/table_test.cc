// Tables and bars as text.
#include "cli/table.h"

#include "gtest/gtest.h"

namespace skipattn::cli {
namespace {

TEST(Table, AlignsColumnsByDisplayedWidth) {
  Table table({"<name", "n"});
  table.Add({"é", "1"});
  table.Add({"longer", "1000"});
  EXPECT_EQ(table.ToString(),
            "name       n\n"
            "é          1\n"
            "longer  1000\n");
}

TEST(Table, HasNoTrailingBlanks) {
  Table table({"a", "<b"});
  table.Add({"1", ""});
  EXPECT_EQ(table.ToString(), "a  b\n1\n");
}

TEST(Bar, FillsInEighthsAndMarks) {
  EXPECT_EQ(Bar(0.5, 0.25, 4), "█┃··");
  EXPECT_EQ(Bar(0.53125, 0, 4), "┃█▏·");
  EXPECT_EQ(Bar(0, 1, 3), "··┃");
  EXPECT_EQ(Bar(7, 1, 3), "██┃");
}

TEST(Fixed, Rounds) {
  EXPECT_EQ(Fixed(1.25, 1), "1.2");
  EXPECT_EQ(Fixed(2, 3), "2.000");
}

}  // namespace
}  // namespace skipattn::cli
