// Features that cases use and the library does not have; see case_missing.h.
#include "tests/cases/case_missing.h"

#include <cstddef>

namespace skipattn::cases {
namespace {

struct Feature {
  const char* name;
  const char* why;
};

constexpr Feature kMissingTerms[] = {
    {"or", "masks are not joined by or"},       {"not", "masks are not negated"},
    {"prefix_causal", "no prefix_causal term"}, {"blocks", "no blocks term"},
    {"function", "no function term"},
};

// Of mask_as.
constexpr Feature kMissingForms[] = {
    {"bias", "no bias"},
    {"soft_bias", "no bias"},
    {"blocks", "no blocks term"},
    {"function", "no function term"},
    {"not_not", "masks are not negated"},
};

constexpr Feature kMissingFields[] = {
    {"bias", "no bias"}, {"softcap", "no softcap"}, {"sinks", "no sinks"}};

// Of empty_rows.
constexpr Feature kMissingPolicies[] = {
    {"uniform", "no empty_rows = uniform"},
    {"nan", "no empty_rows = nan"},
    {"mean", "empty_rows is an enum: a wrong name does not compile"},
};

template <size_t kCount>
std::string Find(const Feature (&features)[kCount], const std::string& name) {
  for (const Feature& feature : features) {
    if (name == feature.name) return feature.why;
  }
  return "";
}

std::string WhyMaskIsMissing(const Json& tree) {
  if (tree.is_null()) return "";
  const std::string why = Find(kMissingTerms, tree.begin().key());
  if (!why.empty() || tree.begin().key() != "and") return why;
  for (const Json& part : tree.begin().value()) {
    const std::string inside = WhyMaskIsMissing(part);
    if (!inside.empty()) return inside;
  }
  return "";
}

std::string WhyFieldsAreMissing(const Json& fields) {
  for (const Feature& feature : kMissingFields) {
    if (fields.contains(feature.name) && !fields[feature.name].is_null()) return feature.why;
  }
  return WhyMaskIsMissing(fields.value("mask", Json()));
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
