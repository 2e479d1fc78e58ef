// Mask values: terms are stored as given and checked when a plan is made.
#include "skipattn/mask.h"

#include <utility>

#include "plan/mask_terms.h"

namespace skipattn {
inline namespace v0 {

using internal::MaskTerms;

Mask operator&(const Mask& a, const Mask& b) {
  if (a.terms_ == nullptr) return b;
  if (b.terms_ == nullptr) return a;
  MaskTerms both = *a.terms_;
  both.terms.insert(both.terms.end(), b.terms_->terms.begin(), b.terms_->terms.end());
  return Mask(std::make_shared<const MaskTerms>(std::move(both)));
}

namespace mask {
namespace {

Mask Of(internal::Term term) {
  return Mask(std::make_shared<const MaskTerms>(MaskTerms{{std::move(term)}}));
}

}  // namespace

Mask KeyLengths(const ConstTensor& lengths) {
  return Of(internal::RangeTerm{"key_lengths", true, {}, lengths});
}

Mask KeyRange(const ConstTensor& begin, const ConstTensor& end) {
  return Of(internal::RangeTerm{"key_range", true, begin, end});
}

Mask KeyValid(const ConstTensor& valid) {
  return Of(internal::ValidTerm{"key_valid", false, true, valid});
}

Mask QueryLengths(const ConstTensor& lengths) {
  return Of(internal::RangeTerm{"query_lengths", false, {}, lengths});
}

Mask QueryRange(const ConstTensor& begin, const ConstTensor& end) {
  return Of(internal::RangeTerm{"query_range", false, begin, end});
}

Mask QueryValid(const ConstTensor& valid) {
  return Of(internal::ValidTerm{"query_valid", true, false, valid});
}

Mask Padding(const ConstTensor& valid) {
  return Of(internal::ValidTerm{"padding", true, true, valid});
}

Mask Causal(const Diagonal& diagonal) { return Of(internal::BandTerm{"causal", -1, 0, diagonal}); }

Mask Window(int64_t left, int64_t right, const Diagonal& diagonal) {
  return Of(internal::BandTerm{"window", left, right, diagonal});
}

Mask Documents(const ConstTensor& q_ids, const ConstTensor& k_ids) {
  return Of(internal::DocumentsTerm{false, q_ids, k_ids});
}

Mask DocumentsFromBoundaries(const ConstTensor& cu_seqlens_q, const ConstTensor& cu_seqlens_k) {
  return Of(internal::DocumentsTerm{true, cu_seqlens_q, cu_seqlens_k});
}

Mask Dense(const ConstTensor& values, const std::string& axes) {
  return Of(internal::DenseTerm{values, axes});
}

}  // namespace mask
}  // namespace v0
}  // namespace skipattn
