// Cases made from public bug reports about attention: README.md tells where they come from.
#include <gtest/gtest.h>

#include <cstddef>
#include <iostream>
#include <ostream>
#include <string>
#include <vector>

#include "tests/cases/case_check.h"
#include "tests/cases/case_data.h"
#include "tests/cases/case_missing.h"

namespace skipattn::cases {
namespace {

/// A case of the file, by its place there.
struct CaseNumber {
  size_t number;
};

/// The id, with underscores, as names of tests have them.
std::string NameOf(CaseNumber c) {
  std::string name = AllCases()[c.number]["id"];
  for (char& letter : name) letter = letter == '-' ? '_' : letter;
  return name;
}

void PrintTo(CaseNumber c, std::ostream* stream) { *stream << NameOf(c); }

std::vector<CaseNumber> AllNumbers() {
  std::vector<CaseNumber> numbers;
  for (size_t n = 0; n < AllCases().size(); ++n) numbers.push_back({n});
  return numbers;
}

/// What of a case, with its sweep, can be run, and why the rest cannot.
struct Census {
  int cases = 0, cases_run = 0, variations = 0, variations_run = 0;
  std::string missing;  // a line each
};

void Count(const Json& one, Census* census) {
  const std::string id = one["id"], why_not = WhyCaseIsMissing(one);
  const Json variations = VariationsOf(one);
  ++census->cases;
  census->variations += static_cast<int>(variations.size());
  if (!why_not.empty()) {
    census->missing += "  " + id + ": " + why_not + "\n";
    return;
  }
  ++census->cases_run;
  census->variations_run += static_cast<int>(variations.size());
}

class Cases : public testing::TestWithParam<CaseNumber> {};

TEST_P(Cases, Hold) {
  Census census;
  for (const Json& one : Expand(AllCases()[GetParam().number])) {
    Count(one, &census);
    if (WhyCaseIsMissing(one).empty()) CheckCase(one, GetParam().number);
  }
  RecordProperty("cases", census.cases_run);
  RecordProperty("variations", census.variations_run);
  RecordProperty("cases_not_applicable", census.cases - census.cases_run);
  RecordProperty("variations_not_applicable", census.variations - census.variations_run);
  if (census.cases_run == 0) GTEST_SKIP() << "not applicable:\n" << census.missing;
}

INSTANTIATE_TEST_SUITE_P(All, Cases, testing::ValuesIn(AllNumbers()),
                         [](const testing::TestParamInfo<CaseNumber>& c) {
                           return NameOf(c.param);
                         });

// Nothing is dropped in silence: whoever gives the library a feature takes it out of
// case_missing.cc, and these numbers rise.
TEST(CasesCensus, WhatRuns) {
  Census census;
  for (const Json& one_case : AllCases()) {
    for (const Json& one : Expand(one_case)) Count(one, &census);
  }
  std::cout << "Not applicable:\n" << census.missing;
  EXPECT_EQ(census.cases, 349);
  EXPECT_EQ(census.variations, 722);
  EXPECT_EQ(census.cases_run, 320);
  EXPECT_EQ(census.variations_run, 669);
}

}  // namespace
}  // namespace skipattn::cases
