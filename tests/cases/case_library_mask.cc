// Masks of cases as Masks of the library; see case_mask.h.
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/cases/case_mask.h"
#include "tests/cases/case_memory.h"

namespace skipattn::cases {
namespace {

DType DTypeOfName(const std::string& name) {
  if (name == "bool") return DType::kBool;
  if (name == "int32") return DType::kI32;
  if (name == "float32") return DType::kF32;
  throw std::runtime_error("unknown type of a mask: " + name);
}

Placement Place(const Array& array, const std::string& strides, const std::string& axes,
                const Sizes& sizes) {
  Placement place{array.shape, StridesOf(array.shape)};
  if (strides == "transposed") {
    const Shape reversed = StridesOf(Shape(array.shape.rbegin(), array.shape.rend()));
    place.stride.assign(reversed.rbegin(), reversed.rend());
  } else if (strides == "negative") {
    for (int64_t& stride : place.stride) stride = -stride;
    place.start = CountOf(array.shape) - 1;
  } else if (strides == "gaps") {
    for (int64_t& stride : place.stride) stride *= 2;
  } else if (strides == "zero") {  // the full size instead of one element
    for (size_t axis = 0; axis < place.shape.size(); ++axis) {
      if (place.shape[axis] == 1) place.stride[axis] = 0;
      place.shape[axis] = sizes.Pairs().at(std::string("bhqk").find(axes[axis]));
    }
  } else if (!strides.empty()) {
    throw std::runtime_error("unknown strides " + strides);
  }
  return place;
}

/// Makes the arrays of a mask and keeps them alive.
class Builder {
 public:
  Builder(const Sizes& sizes, std::vector<std::shared_ptr<const void>>* arrays)
      : sizes_(sizes), arrays_(arrays) {}

  Bias BuildBias(const CaseMask& term) {
    if (term.name.empty()) return {};
    if (term.name == "alibi") return bias::Alibi(Floats(term.first), DiagonalOf(term));
    if (term.name == "relative") return bias::Relative(Floats(term.first), DiagonalOf(term));
    const std::string axes = term.axes.empty() ? "bhqk" : term.axes;
    return bias::Dense(
        Own<float>(term.first, Place(term.first, term.strides, axes, sizes_), DType::kF32),
        term.axes);
  }

  Mask Build(const CaseMask& term) {
    const std::string& name = term.name;
    const Array &first = term.first, &second = term.second;
    if (name.empty()) return {};
    if (name == "and" || name == "or") return BuildJoined(term);
    if (name == "not") return ~Build(term.parts.at(0));
    if (name == "dense" || name == "blocks") return BuildDense(term);
    if (name == "function") return mask::Function(term.function);
    if (name == "prefix_causal") return mask::PrefixCausal(Ints(first), DiagonalOf(term));
    if (name == "causal") return mask::Causal(DiagonalOf(term));
    if (name == "window") return mask::Window(term.left, term.right, DiagonalOf(term));
    if (name == "documents") return mask::Documents(Ids(first), Ids(second));
    if (name == "boundaries") return mask::DocumentsFromBoundaries(Ints(first), Ints(second));
    if (name == "key_lengths") return mask::KeyLengths(Ints(first));
    if (name == "query_lengths") return mask::QueryLengths(Ints(first));
    if (name == "key_range") return mask::KeyRange(Ints(first), Ints(second));
    if (name == "query_range") return mask::QueryRange(Ints(first), Ints(second));
    if (name == "key_valid") return mask::KeyValid(Bools(first));
    if (name == "query_valid") return mask::QueryValid(Bools(first));
    if (name == "padding") return mask::Padding(Bools(first));
    throw std::runtime_error("unknown mask " + name);
  }

 private:
  Mask BuildJoined(const CaseMask& term) {
    Mask joined = Build(term.parts.at(0));
    for (size_t n = 1; n < term.parts.size(); ++n) {
      const Mask part = Build(term.parts[n]);
      joined = term.name == "and" ? joined & part : joined | part;
    }
    return joined;
  }

  Mask BuildDense(const CaseMask& term) {
    const std::string axes = term.axes.empty() ? "bhqk" : term.axes;
    const Placement place = Place(term.first, term.strides, axes, sizes_);
    const DType dtype = DTypeOfName(term.dtype);
    const ConstTensor values = dtype == DType::kBool  ? Own<uint8_t>(term.first, place, dtype)
                               : dtype == DType::kI32 ? Own<int32_t>(term.first, place, dtype)
                                                      : Own<float>(term.first, place, dtype);
    if (term.name == "blocks") {
      return mask::Blocks(values, term.axes, term.block_q, term.block_k);
    }
    return mask::Dense(values, term.axes);
  }

  mask::Diagonal DiagonalOf(const CaseMask& term) {
    mask::Diagonal diagonal;
    diagonal.align = term.align;
    if (!term.offset) return diagonal;
    if (term.offset->shape.empty()) {
      diagonal.offset = static_cast<int64_t>(term.offset->values.at(0));
    } else {
      diagonal.offsets = Ints(*term.offset);
    }
    return diagonal;
  }

  ConstTensor Ints(const Array& array) { return OwnAll<int64_t>(array, DType::kI64); }
  ConstTensor Floats(const Array& array) { return OwnAll<float>(array, DType::kF32); }
  ConstTensor Ids(const Array& array) { return OwnAll<int32_t>(array, DType::kI32); }
  ConstTensor Bools(const Array& array) { return OwnAll<uint8_t>(array, DType::kBool); }

  template <typename T>
  ConstTensor OwnAll(const Array& array, DType dtype) {
    return Own<T>(array, {array.shape, StridesOf(array.shape)}, dtype);
  }

  template <typename T>
  ConstTensor Own(const Array& array, const Placement& place, DType dtype) {
    auto memory = std::make_shared<std::vector<T>>(RoomFor(place) + 1);  // never a null pointer
    Write(array, {array.shape, place.stride, place.start}, memory.get());
    arrays_->push_back(memory);
    return ViewOf<ConstTensor>(memory.get(), dtype, place);
  }

  const Sizes sizes_;
  std::vector<std::shared_ptr<const void>>* const arrays_;
};

}  // namespace

LibraryBias LibraryBiasOf(const CaseMask& bias, const Sizes& sizes) {
  LibraryBias result;
  result.bias = Builder(sizes, &result.arrays).BuildBias(bias);
  return result;
}

LibraryMask LibraryMaskOf(const CaseMask& mask, const Sizes& sizes) {
  LibraryMask result;
  result.mask = Builder(sizes, &result.arrays).Build(mask);
  return result;
}

}  // namespace skipattn::cases
