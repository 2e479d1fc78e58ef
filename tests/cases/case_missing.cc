// Features that cases use and the library does not have; see case_missing.h.
#include "tests/cases/case_missing.h"

#include <cstddef>

namespace skipattn::cases {
namespace {

struct Feature {
  const char* name;
  const char* why;
};

// Of empty_rows.
constexpr Feature kMissingPolicies[] = {
    {"mean", "empty_rows is an enum: a wrong name does not compile"},
};

template <size_t kCount>
std::string Find(const Feature (&features)[kCount], const std::string& name) {
  for (const Feature& feature : features) {
    if (name == feature.name) return feature.why;
  }
  return "";
}

}  // namespace

std::string WhyCaseIsMissing(const Json& one) {
  if (one["dtype"] != "f32") return "no 16-bit types";
  return Find(kMissingPolicies, one.value("empty_rows", ""));
}

Json VariationsOf(const Json& one) { return one["expect"].value("same_bits_as", Json::array()); }

}  // namespace skipattn::cases
