// The library never prints, aborts or exits: what its own objects call from outside is looked
// through by name.
#include <gtest/gtest.h>

#include <cstdio>
#include <memory>
#include <regex>
#include <set>
#include <string>

namespace {

/// Undefined symbols of all objects of the library, demangled.
std::set<std::string> UndefinedSymbols() {
  std::set<std::string> symbols;
  const std::unique_ptr<FILE, int (*)(FILE*)> nm(
      popen("xargs nm -C --undefined-only < '" SKIPATTN_OBJECTS_FILE "' 2>&1", "r"), &pclose);
  char line[4096];
  while (nm != nullptr && std::fgets(line, sizeof(line), nm.get()) != nullptr) {
    std::string text = line;
    const size_t at = text.find(" U ");
    if (at != std::string::npos)
      symbols.insert(text.substr(at + 3, text.find_last_not_of('\n') - at - 2));
  }
  return symbols;
}

// Called by the standard library's headers and the compiler, and why that is no abort of ours.
const std::set<std::string> kPulledIn = {
    "std::terminate()",  // clang: an exception out of a noexcept function, which nothing here
                         // throws
};

TEST(SymbolsTest, NothingPrintsAbortsOrExits) {
#ifndef NDEBUG
  GTEST_SKIP() << "assertions of a debug build print and abort";
#endif
  const std::set<std::string> symbols = UndefinedSymbols();
  ASSERT_EQ(symbols.count("__gxx_personality_v0"), 1u) << "nm saw nothing";
  const std::regex forbidden(
      "(_?exit|_Exit|quick_exit|abort|raise|kill|write|syslog|perror|puts|fputs|putchar|fputc|"
      "fwrite|"
      "(__)?v?[fd]?printf(_chk)?|std::(cout|cerr|clog)|std::(exit|abort|terminate)\\(.*|hwy::Abort."
      "*|"
      "__assert_fail)");
  for (const std::string& symbol : symbols) {
    EXPECT_TRUE(!std::regex_match(symbol, forbidden) || kPulledIn.count(symbol) == 1) << symbol;
  }
}

}  // namespace
