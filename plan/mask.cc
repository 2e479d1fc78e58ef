// Mask values: terms are stored as given and checked when a plan is made.
#include "skipattn/mask.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <utility>
#include <variant>

#include "plan/mask_terms.h"

namespace skipattn {
inline namespace v0 {

using internal::MaskTerms;

namespace internal {

bool CallFunction(const FunctionTerm& term, int64_t b, int64_t h, int64_t i, int64_t j) {
  try {
    return term.function(b, h, i, j);
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    throw MaskFunctionError("function: it threw \"" + std::string(error.what()) +
                            "\", expected true or false");
  } catch (...) {
    throw MaskFunctionError("function: it threw something, expected true or false");
  }
}

}  // namespace internal

namespace {

using TermsPointer = std::shared_ptr<const MaskTerms>;

/// The terms of a mask; an empty conjunction where it has none.
TermsPointer TermsOf(const Mask& mask, const TermsPointer& terms) {
  return mask.terms() != nullptr ? terms : std::make_shared<const MaskTerms>();
}

/// The only term, if it is of this kind.
template <typename T>
const T* Only(const Mask& mask) {
  const MaskTerms* terms = mask.terms();
  return terms != nullptr && terms->terms.size() == 1 ? std::get_if<T>(&terms->terms[0]) : nullptr;
}

Mask Nested(internal::Term term, int depth) {
  if (depth > internal::kMaxMaskDepth) term = internal::TooDeepTerm{};
  return Mask(std::make_shared<const MaskTerms>(MaskTerms{{std::move(term)}, depth}));
}

}  // namespace

Mask operator&(const Mask& a, const Mask& b) {
  if (a.terms_ == nullptr) return b;
  if (b.terms_ == nullptr) return a;
  MaskTerms both = *a.terms_;
  both.terms.insert(both.terms.end(), b.terms_->terms.begin(), b.terms_->terms.end());
  both.depth = std::max(both.depth, b.terms_->depth);
  return Mask(std::make_shared<const MaskTerms>(std::move(both)));
}

Mask operator|(const Mask& a, const Mask& b) {
  internal::OrTerm either;
  int depth = 0;
  for (const Mask* one : {&a, &b}) {
    if (const auto* inner = Only<internal::OrTerm>(*one)) {  // a | b | c is one list
      either.of.insert(either.of.end(), inner->of.begin(), inner->of.end());
      depth = std::max(depth, one->terms_->depth);
    } else {
      either.of.push_back(TermsOf(*one, one->terms_));
      depth = std::max(depth, either.of.back()->depth + 1);
    }
  }
  return Nested(std::move(either), depth);
}

Mask operator~(const Mask& a) {
  if (const auto* inner = Only<internal::NotTerm>(a)) return Mask(inner->of);
  internal::NotTerm negation = {TermsOf(a, a.terms_)};
  const int depth = negation.of->depth + 1;
  return Nested(std::move(negation), depth);
}

namespace mask {
namespace {

Mask Of(internal::Term term) {
  return Mask(std::make_shared<const MaskTerms>(MaskTerms{{std::move(term)}, 0}));
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

Mask PrefixCausal(const ConstTensor& prefix, const Diagonal& diagonal) {
  return Of(internal::PrefixTerm{prefix, diagonal});
}

Mask Documents(const ConstTensor& q_ids, const ConstTensor& k_ids) {
  return Of(internal::DocumentsTerm{false, q_ids, k_ids});
}

Mask DocumentsFromBoundaries(const ConstTensor& cu_seqlens_q, const ConstTensor& cu_seqlens_k) {
  return Of(internal::DocumentsTerm{true, cu_seqlens_q, cu_seqlens_k});
}

Mask Dense(const ConstTensor& values, const std::string& axes) {
  return Of(internal::DenseTerm{values, axes, internal::Reads::kBool, nullptr});
}

Mask Blocks(const ConstTensor& values, const std::string& axes, int64_t block_q, int64_t block_k) {
  return Of(internal::BlocksTerm{values, axes, block_q, block_k});
}

Mask Function(std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> f) {
  return Of(internal::FunctionTerm{std::move(f)});
}

}  // namespace mask
}  // namespace v0
}  // namespace skipattn
