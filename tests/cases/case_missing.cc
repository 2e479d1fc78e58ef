// Features that cases use and the library does not have; see case_missing.h.
#include "tests/cases/case_missing.h"

#include <cstddef>

namespace skipattn::cases {
namespace {

struct Feature {
  const char* name;
  const char* why;
};

// Of mask_as.
constexpr Feature kMissingForms[] = {
    {"bias", "no bias"},
    {"soft_bias", "no bias"},
};

constexpr Feature kMissingFields[] = {{"bias", "no bias"}};

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

std::string WhyFieldsAreMissing(const Json& fields) {
  for (const Feature& feature : kMissingFields) {
    if (fields.contains(feature.name) && !fields[feature.name].is_null()) return feature.why;
  }
  return "";
}

}  // namespace

std::string WhyCaseIsMissing(const Json& one) {
  if (one["dtype"] != "f32") return "no 16-bit types";
  const std::string why = WhyFieldsAreMissing(one);
  return why.empty() ? Find(kMissingPolicies, one.value("empty_rows", "")) : why;
}

std::string WhyVariationIsMissing(const Json& change) {
  const std::string why = WhyFieldsAreMissing(change);
  return why.empty() ? Find(kMissingForms, change.value("mask_as", "")) : why;
}

Json VariationsOf(const Json& one) { return one["expect"].value("same_bits_as", Json::array()); }

}  // namespace skipattn::cases
