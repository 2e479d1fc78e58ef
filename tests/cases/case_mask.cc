// Masks of cases: read from the file, and as predicates; see case_mask.h.
#include "tests/cases/case_mask.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace skipattn::cases {
namespace {

Shape DenseShape(const Json& arg, const Shape& sizes) {
  if (arg.contains("shape")) return arg["shape"];
  Shape shape;
  for (char axis : arg.value("axes", std::string("bhqk"))) {
    shape.push_back(sizes.at(std::string("bhqk").find(axis)));
  }
  return shape;
}

/// Dense arrays, and those of blocks.
void ReadDense(const Json& arg, const Sizes& sizes, CaseMask* mask) {
  mask->block_q = arg.value("block_q", int64_t{1});
  mask->block_k = arg.value("block_k", int64_t{1});
  const auto blocks = [](int64_t length, int64_t block) {
    return (length + std::max<int64_t>(block, 1) - 1) / std::max<int64_t>(block, 1);
  };
  const Shape counts = {sizes.batch, sizes.heads, blocks(sizes.q_len, mask->block_q),
                        blocks(sizes.k_len, mask->block_k)};
  mask->axes = arg.value("axes", "");
  mask->dtype = arg.value("dtype", "bool");
  mask->strides = arg.value("strides", "");
  mask->first = ReadArray(arg, DenseShape(arg, counts));
}

void ReadDiagonal(const Json& arg, CaseMask* mask) {
  mask->left = arg.value("left", int64_t{-1});
  mask->right = arg.value("right", int64_t{0});
  if (arg.contains("align")) {
    mask->align = arg["align"] == "top_left" ? mask::Align::kTopLeft : mask::Align::kBottomRight;
  }
  if (arg.contains("offset")) mask->offset = ReadArray(arg["offset"], {});
}

Predicate ReadFunction(const Json& arg) {
  const Shape coef = arg["coef"];
  return [coef, mod = arg["mod"].get<int64_t>(), below = arg["below"].get<int64_t>()](
             int64_t b, int64_t h, int64_t i, int64_t j) {
    return (coef.at(0) * b + coef.at(1) * h + coef.at(2) * i + coef.at(3) * j) % mod < below;
  };
}

void ReadDocuments(const Json& arg, const Sizes& sizes, CaseMask* mask) {
  const bool boundaries = arg.contains("cu_seqlens_q");
  if (boundaries) mask->name = "boundaries";
  mask->first = ReadArray(arg[boundaries ? "cu_seqlens_q" : "q_ids"], {sizes.batch, sizes.q_len});
  mask->second = ReadArray(arg[boundaries ? "cu_seqlens_k" : "k_ids"], {sizes.batch, sizes.k_len});
}

int64_t Entry(const Array& array, int64_t n) {
  return static_cast<int64_t>(array.values.at(static_cast<size_t>(n)));
}

int64_t OffsetOf(const CaseMask& mask, const Sizes& sizes, int64_t b) {
  if (mask.offset) return Entry(*mask.offset, mask.offset->shape.empty() ? 0 : b);
  return mask.align == mask::Align::kBottomRight ? sizes.k_len - sizes.q_len : 0;
}

Predicate Band(const CaseMask& mask, const Sizes& sizes) {
  return [mask, sizes](int64_t b, int64_t, int64_t i, int64_t j) {
    const int64_t stand = i + OffsetOf(mask, sizes, b);
    return (mask.left == -1 || stand - mask.left <= j) &&
           (mask.right == -1 || j <= stand + mask.right);
  };
}

/// [1, T]: the number of each token's document.
Array IdsOf(const Array& boundaries) {
  Array ids;
  for (size_t d = 1; d < boundaries.values.size(); ++d) {
    ids.values.resize(static_cast<size_t>(boundaries.values[d]), static_cast<double>(d));
  }
  ids.shape = {1, static_cast<int64_t>(ids.values.size())};
  return ids;
}

Predicate SameDocument(Array q_ids, Array k_ids) {
  const int64_t q_len = q_ids.shape.at(1), k_len = k_ids.shape.at(1);
  return [=](int64_t b, int64_t, int64_t i, int64_t j) {
    const int64_t q_id = Entry(q_ids, b * q_len + i), k_id = Entry(k_ids, b * k_len + j);
    return q_id == k_id && q_id >= 0;
  };
}

Predicate Element(const CaseMask& mask) {
  const Shape own = StridesOf(mask.first.shape);
  const std::string axes = mask.axes.empty() ? "bhqk" : mask.axes;
  Shape stride(4, 0);
  for (size_t axis = 0; axis < axes.size(); ++axis) {
    if (mask.first.shape[axis] > 1) stride[std::string("bhqk").find(axes[axis])] = own[axis];
  }
  return [array = mask.first, stride, block_q = mask.block_q, block_k = mask.block_k](
             int64_t b, int64_t h, int64_t i, int64_t j) {
    return Entry(array, b * stride[0] + h * stride[1] + i / block_q * stride[2] +
                            j / block_k * stride[3]) != 0;
  };
}

/// "and", "or" and "not" of the parts.
Predicate Joined(const CaseMask& mask, const Sizes& sizes) {
  std::vector<Predicate> parts;
  for (const CaseMask& part : mask.parts) parts.push_back(PredicateOf(part, sizes));
  return [parts, name = mask.name](int64_t b, int64_t h, int64_t i, int64_t j) {
    const auto holds = [&](const Predicate& part) { return part(b, h, i, j); };
    if (name == "or") return std::any_of(parts.begin(), parts.end(), holds);
    return std::all_of(parts.begin(), parts.end(), holds) == (name == "and");
  };
}

/// The terms of one position, the key's or the query's: f(b, position).
Predicate At(bool key, std::function<bool(int64_t, int64_t)> f) {
  return [key, f](int64_t b, int64_t, int64_t i, int64_t j) { return f(b, key ? j : i); };
}

Predicate Lengths(bool key, const Array& lengths) {
  return At(key, [=](int64_t b, int64_t t) { return t < Entry(lengths, b); });
}

Predicate Range(bool key, const Array& begin, const Array& end) {
  return At(key, [=](int64_t b, int64_t t) { return Entry(begin, b) <= t && t < Entry(end, b); });
}

Predicate Valid(bool key, const Array& valid) {
  return At(key, [=, length = valid.shape.at(1)](int64_t b, int64_t t) {
    return Entry(valid, b * length + t) != 0;
  });
}

}  // namespace

CaseMask ReadMask(const Json& tree, const Sizes& sizes) {
  CaseMask mask;
  if (tree.is_null()) return mask;
  mask.name = tree.begin().key();
  const Json& arg = tree.begin().value();
  if (mask.name == "and" || mask.name == "or") {
    for (const Json& part : arg) mask.parts.push_back(ReadMask(part, sizes));
  } else if (mask.name == "not") {
    mask.parts.push_back(ReadMask(arg, sizes));
  } else if (mask.name == "dense" || mask.name == "blocks") {
    ReadDense(arg, sizes, &mask);
  } else if (mask.name == "function") {
    mask.function = ReadFunction(arg);
  } else if (mask.name == "prefix_causal") {
    ReadDiagonal(arg, &mask);
    mask.first = ReadArray(arg["n"], {sizes.batch});
  } else if (mask.name == "causal" || mask.name == "window") {
    ReadDiagonal(arg, &mask);
  } else if (mask.name == "documents") {
    ReadDocuments(arg, sizes, &mask);
  } else if (mask.name == "key_range" || mask.name == "query_range") {
    mask.first = ReadArray(arg["begin"], {sizes.batch});
    mask.second = ReadArray(arg["end"], {sizes.batch});
  } else {  // lengths and validity
    const int64_t length = mask.name == "query_valid" ? sizes.q_len : sizes.k_len;
    mask.first = ReadArray(arg, {sizes.batch, length});
  }
  return mask;
}

CaseMask ReadBias(const Json& tree, const Sizes& sizes) {
  CaseMask bias;
  if (tree.is_null()) return bias;
  bias.name = tree.begin().key();
  const Json& arg = tree.begin().value();
  if (bias.name == "dense") {
    ReadDense(arg, sizes, &bias);
  } else if (bias.name == "from_mask") {
    bias = DenseMask(AllowedPairs(ReadMask(arg["mask"], sizes), sizes));
    const double low = static_cast<float>(Number(arg["low"]));
    for (double& value : bias.first.values) value = value != 0 ? 0 : low;
  } else {
    bias.first = ReadArray(arg[bias.name == "alibi" ? "slopes" : "table"], {});
    ReadDiagonal(arg, &bias);
  }
  for (double& value : bias.first.values) value = static_cast<float>(value);
  return bias;
}

CaseMask DenseMask(Array pairs, const std::string& name) {
  CaseMask mask;
  mask.name = name;
  mask.axes = "bhqk";
  mask.first = std::move(pairs);
  return mask;
}

Predicate PredicateOf(const CaseMask& mask, const Sizes& sizes) {
  const std::string& name = mask.name;
  const bool key = name.compare(0, 3, "key") == 0;
  if (name.empty()) return [](int64_t, int64_t, int64_t, int64_t) { return true; };
  if (name == "and" || name == "or" || name == "not") return Joined(mask, sizes);
  if (name == "dense" || name == "blocks") return Element(mask);
  if (name == "function") return mask.function;
  if (name == "prefix_causal") {
    return [prefix = Lengths(true, mask.first), causal = Band(mask, sizes)](int64_t b, int64_t h,
                                                                            int64_t i, int64_t j) {
      return prefix(b, h, i, j) || causal(b, h, i, j);
    };
  }
  if (name == "causal" || name == "window") return Band(mask, sizes);
  if (name == "documents") return SameDocument(mask.first, mask.second);
  if (name == "boundaries") return SameDocument(IdsOf(mask.first), IdsOf(mask.second));
  if (name == "key_lengths" || name == "query_lengths") return Lengths(key, mask.first);
  if (name == "key_range" || name == "query_range") return Range(key, mask.first, mask.second);
  if (name == "key_valid" || name == "query_valid") return Valid(key, mask.first);
  if (name == "padding") {
    return
        [q = Valid(false, mask.first), k = Valid(true, mask.first)](
            int64_t b, int64_t h, int64_t i, int64_t j) { return q(b, h, i, j) && k(b, h, i, j); };
  }
  throw std::runtime_error("unknown mask " + name);
}

Array AllowedPairs(const CaseMask& mask, const Sizes& sizes) {
  const Predicate allowed = PredicateOf(mask, sizes);
  Array pairs{sizes.Pairs(), {}};
  pairs.values.reserve(static_cast<size_t>(CountOf(pairs.shape)));
  for (int64_t b = 0; b < sizes.batch; ++b) {
    for (int64_t h = 0; h < sizes.heads; ++h) {
      for (int64_t i = 0; i < sizes.q_len; ++i) {
        for (int64_t j = 0; j < sizes.k_len; ++j) pairs.values.push_back(allowed(b, h, i, j));
      }
    }
  }
  return pairs;
}

}  // namespace skipattn::cases
