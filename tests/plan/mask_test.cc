// Mask as a value: copies, combination, and the terms that it keeps.
#include "skipattn/mask.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "plan/mask_terms.h"

namespace skipattn::internal {
namespace {

void Add(const std::string& before, const std::vector<std::string>& some,
         std::vector<std::string>& names) {
  names.push_back(before);
  names.insert(names.end(), some.begin(), some.end());
  names.push_back(")");
}

/// The names of a mask's terms, in order, with those of what they hold in parentheses.
std::vector<std::string> NamesOf(const Mask& mask) {
  std::vector<std::string> names;
  if (mask.terms() == nullptr) return names;
  for (const Term& term : mask.terms()->terms) {
    if (const auto* range = std::get_if<RangeTerm>(&term)) names.push_back(range->name);
    if (const auto* valid = std::get_if<ValidTerm>(&term)) names.push_back(valid->name);
    if (const auto* band = std::get_if<BandTerm>(&term)) names.push_back(band->name);
    if (std::holds_alternative<DocumentsTerm>(term)) names.push_back("documents");
    if (std::holds_alternative<DenseTerm>(term)) names.push_back("dense");
    if (std::holds_alternative<PrefixTerm>(term)) names.push_back("prefix_causal");
    if (std::holds_alternative<BlocksTerm>(term)) names.push_back("blocks");
    if (std::holds_alternative<FunctionTerm>(term)) names.push_back("function");
    if (const auto* either = std::get_if<OrTerm>(&term)) {
      names.push_back("or");
      for (const auto& one : either->of) Add("(", NamesOf(Mask(one)), names);
    }
    if (const auto* negation = std::get_if<NotTerm>(&term)) {
      names.push_back("not");
      Add("(", NamesOf(Mask(negation->of)), names);
    }
    if (std::holds_alternative<TooDeepTerm>(term)) names.push_back("too deep");
  }
  return names;
}

template <typename T>
const T& Only(const Mask& mask) {
  return std::get<T>(mask.terms()->terms.at(0));
}

const std::vector<int64_t> kTwo = {1, 2};
const std::vector<uint8_t> kBytes(16);

ConstTensor Bools(std::initializer_list<int64_t> shape) {
  return ConstTensor(kBytes.data(), DType::kBool, shape);
}

TEST(MaskTest, ADefaultMaskHasNoTerms) {
  EXPECT_EQ(Mask().terms(), nullptr);
  EXPECT_EQ((Mask() & Mask()).terms(), nullptr);
}

TEST(MaskTest, AndWithADefaultMaskChangesNothing) {
  const Mask causal = mask::Causal();
  EXPECT_EQ((causal & Mask()).terms(), causal.terms());
  EXPECT_EQ((Mask() & causal).terms(), causal.terms());
}

TEST(MaskTest, AndListsTheTermsOfBothInOrder) {
  const Mask a = mask::Causal() & mask::KeyLengths(kTwo);
  const Mask b = mask::Window(1, 2) & mask::Padding(Bools({2, 2}));
  EXPECT_EQ(NamesOf(a & b),
            (std::vector<std::string>{"causal", "key_lengths", "window", "padding"}));
  EXPECT_EQ(NamesOf(b & a),
            (std::vector<std::string>{"window", "padding", "causal", "key_lengths"}));
  EXPECT_EQ(NamesOf(a & a),
            (std::vector<std::string>{"causal", "key_lengths", "causal", "key_lengths"}));
}

TEST(MaskTest, OrKeepsWhatItJoins) {
  const Mask causal = mask::Causal(), window = mask::Window(1, 2), lengths = mask::KeyLengths(kTwo);
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOf(causal | (window & lengths)),
            (Names{"or", "(", "causal", ")", "(", "window", "key_lengths", ")"}));
  const Names three = {"or", "(", "causal", ")", "(", "window", ")", "(", "key_lengths", ")"};
  EXPECT_EQ(NamesOf((causal | window) | lengths), three);
  EXPECT_EQ(NamesOf(causal | (window | lengths)), three);
  Mask all = causal;
  all |= Mask();
  EXPECT_EQ(NamesOf(all), (Names{"or", "(", "causal", ")", "(", ")"}));
  EXPECT_EQ(NamesOf(causal), (Names{"causal"}));
}

TEST(MaskTest, NotTwiceIsTheMaskItself) {
  const Mask causal = mask::Causal(), both = causal & mask::KeyLengths(kTwo);
  using Names = std::vector<std::string>;
  EXPECT_EQ(NamesOf(~both), (Names{"not", "(", "causal", "key_lengths", ")"}));
  EXPECT_EQ((~~both).terms(), both.terms());
  EXPECT_EQ(NamesOf(~~~causal), (Names{"not", "(", "causal", ")"}));
  EXPECT_EQ(NamesOf(~Mask()), (Names{"not", "(", ")"}));
  EXPECT_TRUE(NamesOf(~~Mask()).empty());
  EXPECT_EQ(NamesOf(~(~causal & both)),
            (Names{"not", "(", "not", "(", "causal", ")", "causal", "key_lengths", ")"}));
}

TEST(MaskTest, NestingHasALimitAndIsThenRefused) {
  Mask deep = mask::Causal();
  for (int level = 0; level < kMaxMaskDepth; ++level) deep = ~(deep & mask::KeyLengths(kTwo));
  EXPECT_EQ(deep.terms()->depth, kMaxMaskDepth);
  EXPECT_EQ(NamesOf(deep)[0], "not");
  const std::vector<std::string> refused = {"too deep"};
  EXPECT_EQ(NamesOf(~(deep & mask::Causal())), refused);
  EXPECT_EQ(NamesOf(deep | mask::Causal()), refused);
  for (int level = 0; level < 100000; ++level) deep = ~(deep & mask::KeyLengths(kTwo));
  EXPECT_EQ(NamesOf(deep)[0], "too deep");  // and no stack was exhausted

  Mask wide = mask::Causal();
  for (int n = 0; n < 1000; ++n) wide |= mask::KeyLengths(kTwo);
  EXPECT_EQ(wide.terms()->depth, 1);
}

TEST(MaskTest, CombiningLeavesTheOperandsAlone) {
  const Mask a = mask::Causal(), b = mask::Window(0, 0);
  Mask both = a;
  both &= b;
  both &= a;
  EXPECT_EQ(NamesOf(both), (std::vector<std::string>{"causal", "window", "causal"}));
  EXPECT_EQ(NamesOf(a), (std::vector<std::string>{"causal"}));
  EXPECT_EQ(NamesOf(b), (std::vector<std::string>{"window"}));
}

TEST(MaskTest, CopiesShareAndAssignmentReplaces) {
  Mask a = mask::Causal();
  const Mask copy = a;
  EXPECT_EQ(copy.terms(), a.terms());
  a &= mask::Window(0, 0);
  EXPECT_EQ(NamesOf(copy), (std::vector<std::string>{"causal"}));
  a = Mask();
  EXPECT_EQ(a.terms(), nullptr);
  a &= copy;
  EXPECT_EQ(NamesOf(a), (std::vector<std::string>{"causal"}));
  const Mask moved = std::move(a);
  EXPECT_EQ(NamesOf(moved), (std::vector<std::string>{"causal"}));
}

TEST(MaskTest, OutlivesItsOperands) {
  Mask both;
  {
    const Mask a = mask::Causal(), b = mask::Window(3, 4);
    both = a & b;
  }
  EXPECT_EQ(NamesOf(both), (std::vector<std::string>{"causal", "window"}));
}

TEST(MaskTest, RangesAndLengths) {
  const std::vector<int64_t> end = {5, 6};
  const struct {
    Mask mask;
    const char* name;
    bool on_keys, has_begin;
  } cases[] = {{mask::KeyLengths(end), "key_lengths", true, false},
               {mask::KeyRange(kTwo, end), "key_range", true, true},
               {mask::QueryLengths(end), "query_lengths", false, false},
               {mask::QueryRange(kTwo, end), "query_range", false, true}};
  for (const auto& one : cases) {
    SCOPED_TRACE(one.name);
    const RangeTerm& term = Only<RangeTerm>(one.mask);
    EXPECT_EQ(term.name, std::string(one.name));
    EXPECT_EQ(term.on_keys, one.on_keys);
    EXPECT_EQ(term.begin.data, one.has_begin ? kTwo.data() : nullptr);
    EXPECT_EQ(term.end.data, end.data()) << "arrays are borrowed, not copied";
  }
}

TEST(MaskTest, ValidPositions) {
  const ValidTerm keys = Only<ValidTerm>(mask::KeyValid(Bools({2, 2})));
  EXPECT_TRUE(keys.on_keys && !keys.on_queries);
  const ValidTerm queries = Only<ValidTerm>(mask::QueryValid(Bools({2, 2})));
  EXPECT_TRUE(!queries.on_keys && queries.on_queries);
  const ValidTerm padding = Only<ValidTerm>(mask::Padding(Bools({2, 2})));
  EXPECT_TRUE(padding.on_keys && padding.on_queries);
  EXPECT_EQ(padding.valid.data, kBytes.data());
}

TEST(MaskTest, BandsAndTheirDiagonals) {
  const BandTerm causal = Only<BandTerm>(mask::Causal());
  EXPECT_EQ(causal.left, -1);
  EXPECT_EQ(causal.right, 0);
  EXPECT_FALSE(causal.diagonal.align || causal.diagonal.offset || causal.diagonal.offsets.given());

  const BandTerm window = Only<BandTerm>(mask::Window(5, -1, -7));
  EXPECT_EQ(window.left, 5);
  EXPECT_EQ(window.right, -1);
  EXPECT_EQ(window.diagonal.offset, -7);

  const BandTerm aligned = Only<BandTerm>(mask::Causal(mask::Align::kBottomRight));
  EXPECT_EQ(aligned.diagonal.align, mask::Align::kBottomRight);
  EXPECT_FALSE(aligned.diagonal.offset.has_value());

  const BandTerm each = Only<BandTerm>(mask::Causal(ConstTensor(kTwo)));
  EXPECT_EQ(each.diagonal.offsets.data, kTwo.data());
}

TEST(MaskTest, DocumentsAndDense) {
  const std::vector<int64_t> other = {0, 1};
  const DocumentsTerm ids = Only<DocumentsTerm>(mask::Documents(kTwo, other));
  EXPECT_FALSE(ids.boundaries);
  EXPECT_EQ(ids.q.data, kTwo.data());
  EXPECT_EQ(ids.k.data, other.data());
  EXPECT_TRUE(Only<DocumentsTerm>(mask::DocumentsFromBoundaries(kTwo, other)).boundaries);

  const DenseTerm dense = Only<DenseTerm>(mask::Dense(Bools({4, 4}), "qk"));
  EXPECT_EQ(dense.axes, "qk");
  EXPECT_EQ(dense.values.shape[1], 4);
}

TEST(DenseViewTest, AxesGetTheirPlacesAndSizeOneBroadcasts) {
  const DenseView qk = ViewOf(Bools({4, 3}), "qk");
  EXPECT_EQ(std::vector<int64_t>(qk.stride, qk.stride + 4), (std::vector<int64_t>{0, 0, 3, 1}));
  const DenseView bk = ViewOf(Bools({2, 3}), "bk");
  EXPECT_EQ(std::vector<int64_t>(bk.stride, bk.stride + 4), (std::vector<int64_t>{3, 0, 0, 1}));
  const DenseView all = ViewOf(Bools({2, 1, 2, 2}), "");
  EXPECT_EQ(std::vector<int64_t>(all.stride, all.stride + 4), (std::vector<int64_t>{4, 0, 2, 1}));
  const DenseView one = ViewOf(Bools({1}), "h");
  EXPECT_EQ(std::vector<int64_t>(one.stride, one.stride + 4), (std::vector<int64_t>{0, 0, 0, 0}));
}

TEST(MaskTest, PrefixBlocksAndFunctions) {
  const Mask prefix_mask = mask::PrefixCausal(kTwo, mask::Align::kTopLeft);
  const auto& prefix = Only<PrefixTerm>(prefix_mask);
  EXPECT_EQ(prefix.prefix.data, kTwo.data());
  EXPECT_EQ(prefix.diagonal.align, mask::Align::kTopLeft);
  const Mask blocks_mask = mask::Blocks(Bools({2, 3}), "qk", 16, 8);
  const auto& blocks = Only<BlocksTerm>(blocks_mask);
  EXPECT_EQ(blocks.axes, "qk");
  EXPECT_EQ(blocks.block_q, 16);
  EXPECT_EQ(blocks.block_k, 8);
  EXPECT_EQ(ViewOf(blocks).stride[2], 3);
  const Mask function_mask =
      mask::Function([](int64_t b, int64_t h, int64_t i, int64_t j) { return b + h + i < j; });
  const auto& function = Only<FunctionTerm>(function_mask);
  EXPECT_TRUE(CallFunction(function, 1, 2, 3, 7));
  EXPECT_FALSE(CallFunction(function, 1, 2, 3, 6));
}

TEST(MaskTest, WhatAFunctionThrowsIsOneError) {
  const auto message = [](const Mask& mask) -> std::string {
    try {
      CallFunction(Only<FunctionTerm>(mask), 0, 0, 0, 0);
    } catch (const MaskFunctionError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(message(mask::Function([](auto...) -> bool { throw std::runtime_error("no data"); })),
            "function: it threw \"no data\", expected true or false");
  EXPECT_EQ(message(mask::Function([](auto...) -> bool { throw 5; })),
            "function: it threw something, expected true or false");
  const Mask hungry = mask::Function([](auto...) -> bool { throw std::bad_alloc(); });
  EXPECT_THROW(CallFunction(Only<FunctionTerm>(hungry), 0, 0, 0, 0), std::bad_alloc);
}

}  // namespace
}  // namespace skipattn::internal
