// A case's mask, twice: as a predicate of its own, and as a Mask of the library.
#ifndef SKIPATTN_TESTS_CASES_CASE_MASK_H_
#define SKIPATTN_TESTS_CASES_CASE_MASK_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skipattn/attention.h"
#include "tests/cases/case_data.h"

namespace skipattn::cases {

struct Sizes {
  int64_t batch = 0, heads = 0, q_len = 0, k_len = 0;
  Shape Pairs() const { return {batch, heads, q_len, k_len}; }
};

/// What a mask allows, written down without any hurry.
using Predicate = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// A term, or the "and", "or" or "not" of some, with its arrays.
struct CaseMask {
  std::string name;             ///< as in the file; empty = no mask
  std::vector<CaseMask> parts;  ///< of "and", "or", "not"
  Array first, second;          ///< in the order of the library's arguments
  int64_t left = -1, right = 0;
  std::optional<mask::Align> align;
  std::optional<Array> offset;  ///< a number, or [B]
  std::string axes, dtype = "bool", strides;
  int64_t block_q = 1, block_k = 1;  ///< of "blocks"
  Predicate function;
};

/// `tree` may be null: no mask.
CaseMask ReadMask(const Json& tree, const Sizes& sizes);

/// A bias in the same form, `name` being "dense", "alibi" or "relative"; `tree` may be null: none.
CaseMask ReadBias(const Json& tree, const Sizes& sizes);

/// The mask that holds every pair, an array of `sizes.Pairs()`: `name` is "dense", or "blocks" for
/// blocks of one element.
CaseMask DenseMask(Array pairs, const std::string& name = "dense");

/// The definition of the terms, written down a second time.
Predicate PredicateOf(const CaseMask& mask, const Sizes& sizes);

/// 1 where the mask allows, as an array of `sizes.Pairs()`.
Array AllowedPairs(const CaseMask& mask, const Sizes& sizes);

/// A Mask and the arrays that it borrows.
struct LibraryMask {
  Mask mask;
  std::vector<std::shared_ptr<const void>> arrays;
};
struct LibraryBias {
  Bias bias;
  std::vector<std::shared_ptr<const void>> arrays;
};
LibraryBias LibraryBiasOf(const CaseMask& bias, const Sizes& sizes);
LibraryMask LibraryMaskOf(const CaseMask& mask, const Sizes& sizes);

}  // namespace skipattn::cases

#endif  // SKIPATTN_TESTS_CASES_CASE_MASK_H_
