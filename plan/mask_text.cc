// A mask expression, and a bias, as people write them.
#include <cstddef>
#include <string>
#include <type_traits>
#include <variant>

#include "plan/bias_term.h"
#include "plan/mask_terms.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

constexpr size_t kMostText = 200;  // of a line for people

/// ", offset 3" and the like; nothing where nothing was given.
std::string DiagonalText(const mask::Diagonal& diagonal, const char* before) {
  if (diagonal.offsets.given()) return std::string(before) + "an offset for each entry";
  if (diagonal.offset.has_value()) return before + ("offset " + std::to_string(*diagonal.offset));
  if (!diagonal.align.has_value()) return "";
  const bool bottom_right = *diagonal.align == mask::Align::kBottomRight;
  return std::string(before) + (bottom_right ? "bottom_right" : "top_left");
}

std::string Parenthesized(const std::string& text) { return text.empty() ? "" : "(" + text + ")"; }

std::string TermText(const RangeTerm& term) { return term.name; }
std::string TermText(const ValidTerm& term) { return term.name; }
std::string TermText(const BandTerm& term) {
  if (std::string("causal") == term.name) {
    return "causal" + Parenthesized(DiagonalText(term.diagonal, ""));
  }
  return "window(" + std::to_string(term.left) + ", " + std::to_string(term.right) +
         DiagonalText(term.diagonal, ", ") + ")";
}
std::string TermText(const PrefixTerm& term) {
  return "prefix_causal" + Parenthesized(DiagonalText(term.diagonal, ""));
}
std::string TermText(const DocumentsTerm&) { return "documents"; }
std::string TermText(const DenseTerm& term) { return "dense" + Parenthesized(term.axes); }
std::string TermText(const BlocksTerm& term) {
  return "blocks(" + term.axes + (term.axes.empty() ? "" : ", ") + std::to_string(term.block_q) +
         " x " + std::to_string(term.block_k) + ")";
}
std::string TermText(const FunctionTerm&) { return "function"; }
std::string TermText(const TooDeepTerm&) { return "..."; }

std::string ConjunctionText(const MaskTerms& terms, bool inside);

std::string TermText(const OrTerm& term) {
  std::string text;
  for (const auto& one : term.of) {
    if (text.size() > kMostText) break;
    text += (text.empty() ? "" : " | ") + ConjunctionText(*one, true);
  }
  return "(" + text + ")";
}
std::string TermText(const NotTerm& term) { return "~" + ConjunctionText(*term.of, true); }

/// `inside`: in parentheses where it is more than one term.
std::string ConjunctionText(const MaskTerms& terms, bool inside) {
  if (terms.terms.empty()) return "everything";
  std::string text;
  for (const Term& term : terms.terms) {
    if (text.size() > kMostText) break;
    if (!text.empty()) text += " & ";
    text += std::visit([](const auto& one) { return TermText(one); }, term);
  }
  return inside && terms.terms.size() > 1 ? "(" + text + ")" : text;
}

}  // namespace

std::string MaskText(const Mask& mask) {
  if (mask.terms() == nullptr) return "everything";
  std::string text = ConjunctionText(*mask.terms(), false);
  // One "or" alone needs no parentheses.
  if (mask.terms()->terms.size() == 1 && text.front() == '(')
    text = text.substr(1, text.size() - 2);
  if (text.size() > kMostText) text = text.substr(0, kMostText) + " ...";
  return text;
}

std::string BiasText(const Bias& bias) {
  const BiasTerm* term = bias.term();
  switch (KindOf(bias)) {
    case BiasKind::kDense:
      return "dense" + Parenthesized(term->axes);
    case BiasKind::kAlibi:
      return "alibi" + Parenthesized(DiagonalText(term->diagonal, ""));
    case BiasKind::kRelative:
      return "relative(table of " + std::to_string(term->values.shape[1]) +
             DiagonalText(term->diagonal, ", ") + ")";
    default:
      return "";
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
