// One random mask term of each kind, with its meaning as a predicate; see random_mask.h.
#ifndef SKIPATTN_TESTS_RANDOM_TERM_H_
#define SKIPATTN_TESTS_RANDOM_TERM_H_

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "skipattn/mask.h"
#include "skipattn/plan.h"
#include "tests/random_array.h"

namespace skipattn::test {

enum class TermKind {
  kKeyLengths,
  kKeyRange,
  kKeyValid,
  kQueryLengths,
  kQueryRange,
  kQueryValid,
  kPadding,
  kCausal,
  kWindow,
  kDocuments,
  kBoundaries,
  kDense,
  kPrefixCausal,
  kBlocks,
  kFunction,
  kTree,  // "or" and "not" of terms
};

inline constexpr TermKind kTermKinds[] = {
    TermKind::kKeyLengths,   TermKind::kKeyRange,   TermKind::kKeyValid,   TermKind::kQueryLengths,
    TermKind::kQueryRange,   TermKind::kQueryValid, TermKind::kPadding,    TermKind::kCausal,
    TermKind::kWindow,       TermKind::kDocuments,  TermKind::kBoundaries, TermKind::kDense,
    TermKind::kPrefixCausal, TermKind::kBlocks,     TermKind::kFunction,   TermKind::kTree};

/// Whether a term of this kind exists for the problem.
inline bool Fits(TermKind kind, const Problem& problem) {
  if (kind == TermKind::kPadding) return problem.q_len == problem.k_len;
  if (kind == TermKind::kBoundaries) return problem.batch == 1;
  return true;
}

/// One term and its meaning, straight from the definition of the term. Arrays are owned by the
/// functions.
struct RandomTerm {
  Mask mask;
  std::string text;
  bool band = false;          // causal, window or prefix_causal
  bool negated_tree = false;  // a tree that is a "not"
  std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)> allows;
  std::function<int64_t(int64_t b, int64_t i)> document;  // of a query; documents terms only
};

using IntArray = RandomArray<int64_t>;
using BoolArray = RandomArray<bool>;

/// One position from 0 to `most` per batch entry: often none or all.
inline IntArray RandomPositions(Rng& rng, int64_t batch, int64_t most) {
  IntArray positions(rng, {batch}, true);
  for (int64_t b = 0; b < batch; ++b) {
    positions.Set(rng, {b},
                  PickOf(rng, {0, most, most, Uniform(rng, 0, most), Uniform(rng, 0, most)}));
  }
  return positions;
}

inline std::string TextOf(const IntArray& array, int64_t count) {
  std::string text = "(";
  for (int64_t n = 0; n < count; ++n) text += (n > 0 ? ", " : "") + std::to_string(array.At({n}));
  return text + ")";
}

inline RandomTerm RandomRange(Rng& rng, const Problem& problem, bool keys, bool lengths) {
  const int64_t most = keys ? problem.k_len : problem.q_len;
  const IntArray begin = RandomPositions(rng, problem.batch, most);
  const IntArray end = RandomPositions(rng, problem.batch, most);
  RandomTerm term;
  term.text = keys ? "key_" : "query_";
  if (lengths) {
    term.mask = keys ? mask::KeyLengths(end.view) : mask::QueryLengths(end.view);
    term.text += "lengths" + TextOf(end, problem.batch);
  } else {
    term.mask =
        keys ? mask::KeyRange(begin.view, end.view) : mask::QueryRange(begin.view, end.view);
    term.text += "range" + TextOf(begin, problem.batch) + TextOf(end, problem.batch);
  }
  term.allows = [=](int64_t b, int64_t, int64_t i, int64_t j) {
    const int64_t t = keys ? j : i;
    return (lengths || begin.At({b}) <= t) && t < end.At({b});
  };
  return term;
}

/// A pattern along one axis: everything, nothing, a part, or holes.
class RandomPattern {
 public:
  RandomPattern(Rng& rng, int64_t size)
      : begin_(PickOf(rng, {0, 0, Uniform(rng, 0, size)})),
        end_(PickOf(rng, {size, size, Uniform(rng, 0, size)})),
        holes_(PickOf(rng, {0, 0, 2, 8, 100})) {}
  bool At(Rng& rng, int64_t t) const {
    return begin_ <= t && t < end_ && (holes_ == 0 || !OneIn(rng, holes_));
  }

 private:
  int64_t begin_, end_, holes_;  // one position in `holes_` is missing
};

inline RandomTerm RandomValid(Rng& rng, const Problem& problem, bool queries, bool keys) {
  const int64_t length = keys ? problem.k_len : problem.q_len;
  BoolArray valid(rng, {problem.batch, length}, true);
  for (int64_t b = 0; b < problem.batch; ++b) {
    const RandomPattern pattern(rng, length);
    for (int64_t t = 0; t < length; ++t) valid.Set(rng, {b, t}, pattern.At(rng, t));
  }
  RandomTerm term;
  term.text = queries && keys ? "padding" : queries ? "query_valid" : "key_valid";
  term.mask = queries && keys ? mask::Padding(valid.view)
              : queries       ? mask::QueryValid(valid.view)
                              : mask::KeyValid(valid.view);
  term.allows = [=](int64_t b, int64_t, int64_t i, int64_t j) {
    return (!queries || valid.At({b, i})) && (!keys || valid.At({b, j}));
  };
  return term;
}

/// A diagonal in one of its forms, and where it stands.
struct RandomDiagonal {
  RandomDiagonal(Rng& rng, const Problem& problem) : offsets_(rng, {problem.batch}, true) {
    constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
    const int64_t tq = problem.q_len, tk = problem.k_len;
    const auto any_offset = [&] {
      return PickOf(rng, {0, tk - tq, tk - tq, Uniform(rng, -4, 4), Uniform(rng, -tq, tk), -tq, tk,
                          int64_t{1} << 40, -(int64_t{1} << 40), kMost, -kMost - 1});
    };
    const int64_t form = PickOf(rng, {tq == tk ? 0 : 2, 1, 2, 3, 4});
    const int64_t offset = form == 0 || form == 1 ? 0 : form == 2 ? tk - tq : any_offset();
    for (int64_t b = 0; b < problem.batch; ++b) {
      const int64_t own = any_offset();
      const bool fits = offsets_.view.dtype == DType::kI64 || own == static_cast<int32_t>(own);
      offsets_.Set(rng, {b}, form == 4 ? (fits ? own : 1) : offset);
    }
    if (form == 1) diagonal = mask::Align::kTopLeft;
    if (form == 2) diagonal = mask::Align::kBottomRight;
    if (form == 3) diagonal = offset;
    if (form == 4) diagonal = offsets_.view;
    offset_ = offset;
    each_ = form == 4;
    text = " offset " + (each_ ? TextOf(offsets_, problem.batch) : std::to_string(offset));
  }

  /// The key at which query i stands.
  __int128 KeyOf(int64_t b, int64_t i) const {
    return __int128{each_ ? offsets_.At({b}) : offset_} + i;
  }

  mask::Diagonal diagonal;
  std::string text;

 private:
  IntArray offsets_;
  int64_t offset_;
  bool each_;
};

inline RandomTerm RandomBand(Rng& rng, const Problem& problem, bool causal) {
  const auto side = [&] {
    return PickOf(rng, {-1, -1, 0, 1, Uniform(rng, 0, 8), Uniform(rng, 0, problem.k_len),
                        problem.k_len + problem.q_len, std::numeric_limits<int64_t>::max()});
  };
  const int64_t left = causal ? -1 : side(), right = causal ? 0 : side();
  const RandomDiagonal random(rng, problem);
  RandomTerm term;
  term.band = true;
  term.mask = causal ? mask::Causal(random.diagonal) : mask::Window(left, right, random.diagonal);
  term.text = (causal ? "causal" : "window " + std::to_string(left) + " " + std::to_string(right)) +
              random.text;
  term.allows = [=](int64_t b, int64_t, int64_t i, int64_t j) {
    const __int128 own = random.KeyOf(b, i);
    return (left < 0 || own - left <= j) && (right < 0 || j <= own + right);
  };
  return term;
}

inline RandomTerm RandomPrefix(Rng& rng, const Problem& problem) {
  const IntArray prefix = RandomPositions(rng, problem.batch, problem.k_len);
  const RandomDiagonal random(rng, problem);
  RandomTerm term;
  term.band = true;
  term.mask = mask::PrefixCausal(prefix.view, random.diagonal);
  term.text = "prefix_causal" + TextOf(prefix, problem.batch) + random.text;
  term.allows = [=](int64_t b, int64_t, int64_t i, int64_t j) {
    return j < prefix.At({b}) || j <= random.KeyOf(b, i);
  };
  return term;
}

/// Ids that come in pieces or interleaved, some of them negative.
inline IntArray RandomIds(Rng& rng, int64_t batch, int64_t length, int64_t ids, int64_t piece) {
  IntArray array(rng, {batch, length}, true);
  for (int64_t b = 0; b < batch; ++b) {
    int64_t id = 0;
    for (int64_t t = 0; t < length; ++t) {
      if (OneIn(rng, piece)) id = Uniform(rng, OneIn(rng, 3) ? -2 : 0, ids - 1);
      const int64_t far = std::numeric_limits<int32_t>::max();  // stands for the last id
      array.Set(rng, {b, t}, id == ids - 1 ? far : id == -2 ? -far - 1 : id);
    }
  }
  return array;
}

inline RandomTerm RandomDocuments(Rng& rng, const Problem& problem) {
  const int64_t ids = PickOf(rng, {1, 2, 3, 9}), piece = PickOf(rng, {1, 8, 50});
  const IntArray q = RandomIds(rng, problem.batch, problem.q_len, ids, piece);
  const IntArray k = RandomIds(rng, problem.batch, problem.k_len, ids, piece);
  RandomTerm term;
  term.mask = mask::Documents(q.view, k.view);
  term.text = "documents of " + std::to_string(ids) + " ids";
  term.allows = [=](int64_t b, int64_t, int64_t i, int64_t j) {
    return q.At({b, i}) == k.At({b, j}) && q.At({b, i}) >= 0;
  };
  term.document = [=](int64_t b, int64_t i) { return q.At({b, i}); };
  return term;
}

inline RandomTerm RandomBoundaries(Rng& rng, const Problem& problem) {
  const int64_t documents = PickOf(rng, {1, 2, 3, 5, 20});
  const bool none = problem.q_len == 0 && problem.k_len == 0 && OneIn(rng, 2);
  const int64_t count = none ? 1 : documents + 1;
  IntArray q(rng, {count}, false), k(rng, {count}, false);
  const auto fill = [&](IntArray& array, int64_t length) {
    std::vector<int64_t> cuts = {0, length};
    while (static_cast<int64_t>(cuts.size()) < count) cuts.push_back(Uniform(rng, 0, length));
    std::sort(cuts.begin(), cuts.end());
    for (int64_t n = 0; n < count; ++n) array.Set(rng, {n}, cuts[static_cast<size_t>(n)]);
  };
  fill(q, problem.q_len);
  fill(k, problem.k_len);
  const auto document_of = [=](const IntArray& array, int64_t t) {
    int64_t document = 0;
    while (array.At({document + 1}) <= t) ++document;
    return document;
  };
  RandomTerm term;
  term.mask = mask::DocumentsFromBoundaries(q.view, k.view);
  term.text = "documents" + TextOf(q, count) + TextOf(k, count);
  term.allows = [=](int64_t, int64_t, int64_t i, int64_t j) {
    return document_of(q, i) == document_of(k, j);
  };
  term.document = [=](int64_t, int64_t i) { return document_of(q, i); };
  return term;
}

/// A dense array over a random part of the axes, some of size 1: rows of one run, rows with holes,
/// triangles, and rows that are equal to their neighbours. In blocks of a given size, or elements.
inline RandomTerm RandomDense(Rng& rng, const Problem& problem, bool blocks) {
  const int64_t block_q = blocks ? PickOf(rng, {1, 2, 3, 7, 16, 64, 1000}) : 1;
  const int64_t block_k = blocks ? PickOf(rng, {1, 2, 3, 7, 16, 64, 1000}) : 1;
  const int64_t sizes[4] = {problem.batch, problem.heads, (problem.q_len + block_q - 1) / block_q,
                            (problem.k_len + block_k - 1) / block_k};
  std::vector<int64_t> shape;  // of all four axes
  for (int axis = 0; axis < 4; ++axis) {
    shape.push_back(OneIn(rng, axis < 2 ? 2 : 5) ? 1 : sizes[axis]);
  }
  BoolArray values(rng, shape, true);
  const bool triangle = OneIn(rng, 4);
  const int64_t equal_rows = PickOf(rng, {1, 1, 5, 100});
  for (int64_t b = 0; b < shape[0]; ++b) {
    for (int64_t h = 0; h < shape[1]; ++h) {
      RandomPattern pattern(rng, shape[3]);
      for (int64_t i = 0; i < shape[2]; ++i) {
        const bool same = i > 0 && !OneIn(rng, equal_rows);
        if (!same) pattern = RandomPattern(rng, shape[3]);
        for (int64_t j = 0; j < shape[3]; ++j) {
          values.Set(rng, {b, h, i, j},
                     same       ? values.At({b, h, i - 1, j})
                     : triangle ? j <= i
                                : pattern.At(rng, j));
        }
      }
    }
  }
  ConstTensor view = values.view;
  std::string axes;
  view.rank = 0;
  for (int axis = 0; axis < 4; ++axis) {
    if (shape[static_cast<size_t>(axis)] == 1 && (axis < 3 || view.rank > 0) && OneIn(rng, 2)) {
      continue;  // an axis that is not there
    }
    view.shape[view.rank] = values.view.shape[axis];
    view.stride[view.rank++] = values.view.stride[axis];
    axes += "bhqk"[axis];
  }
  RandomTerm term;
  const std::string given_axes = view.rank == 4 && OneIn(rng, 2) ? "" : axes;
  term.mask =
      blocks ? mask::Blocks(view, given_axes, block_q, block_k) : mask::Dense(view, given_axes);
  term.text = (blocks ? "blocks " + std::to_string(block_q) + "x" + std::to_string(block_k) + " "
                      : "dense ") +
              axes;
  term.allows = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    const int64_t* size = values.view.shape;
    return values.At({size[0] > 1 ? b : 0, size[1] > 1 ? h : 0, size[2] > 1 ? i / block_q : 0,
                      size[3] > 1 ? j / block_k : 0});
  };
  return term;
}

/// Stripes in any direction, some of which differ from head to head.
inline RandomTerm RandomFunction(Rng& rng, const Problem&) {
  const int64_t at_b = Uniform(rng, 0, 2), at_h = Uniform(rng, 0, 2), at_i = Uniform(rng, 0, 3),
                at_j = Uniform(rng, 0, 3), period = PickOf(rng, {1, 2, 5, 64, 300}),
                below = Uniform(rng, 0, period);
  RandomTerm term;
  term.allows = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    return (at_b * b + at_h * h + at_i * i + at_j * j) % period < below;
  };
  term.mask = mask::Function(term.allows);
  term.text = "function " + std::to_string(at_b) + "b + " + std::to_string(at_h) + "h + " +
              std::to_string(at_i) + "i + " + std::to_string(at_j) + "j mod " +
              std::to_string(period) + " < " + std::to_string(below);
  return term;
}

inline RandomTerm MakeRandomTerm(Rng& rng, const Problem& problem, TermKind kind, int depth);

/// "Or" or "not" of one to three conjunctions of one to three terms, which may be trees in turn.
inline RandomTerm RandomTree(Rng& rng, const Problem& problem, int depth) {
  const int64_t alternatives = PickOf(rng, {1, 2, 2, 3});
  const bool negated = alternatives == 1 || OneIn(rng, 3);
  std::vector<std::vector<RandomTerm>> of;
  RandomTerm tree;
  for (int64_t n = 0; n < alternatives; ++n) {
    of.emplace_back();
    Mask all;
    std::string text;
    for (int64_t terms = PickOf(rng, {1, 1, 2, 3}); terms > 0; --terms) {
      const TermKind kind = kTermKinds[Uniform(rng, 0, std::size(kTermKinds) - 1)];
      if (!Fits(kind, problem) || (kind == TermKind::kTree && depth == 1)) continue;
      of.back().push_back(MakeRandomTerm(rng, problem, kind, depth - 1));
      all &= of.back().back().mask;
      text += (text.empty() ? "" : " & ") + of.back().back().text;
    }
    tree.mask = n == 0 ? all : tree.mask | all;
    tree.text += (n > 0 ? " | " : "") + (text.empty() ? "everything" : text);
  }
  if (negated) tree.mask = ~tree.mask;
  tree.text = (negated ? "~(" : "(") + tree.text + ")";
  tree.allows = [=](int64_t b, int64_t h, int64_t i, int64_t j) {
    const bool any = std::any_of(of.begin(), of.end(), [&](const std::vector<RandomTerm>& terms) {
      return std::all_of(terms.begin(), terms.end(),
                         [&](const RandomTerm& term) { return term.allows(b, h, i, j); });
    });
    return any != negated;
  };
  // "Not" of a lone "not" is what is in it, with its place at the top.
  if (negated && alternatives == 1 && of[0].size() == 1 && of[0][0].negated_tree) {
    return RandomTree(rng, problem, depth);
  }
  tree.negated_tree = negated;
  return tree;
}

inline RandomTerm MakeRandomTerm(Rng& rng, const Problem& problem, TermKind kind, int depth = 3) {
  switch (kind) {
    case TermKind::kKeyLengths:
    case TermKind::kKeyRange:
      return RandomRange(rng, problem, true, kind == TermKind::kKeyLengths);
    case TermKind::kQueryLengths:
    case TermKind::kQueryRange:
      return RandomRange(rng, problem, false, kind == TermKind::kQueryLengths);
    case TermKind::kKeyValid:
    case TermKind::kQueryValid:
    case TermKind::kPadding:
      return RandomValid(rng, problem, kind != TermKind::kKeyValid, kind != TermKind::kQueryValid);
    case TermKind::kCausal:
    case TermKind::kWindow:
      return RandomBand(rng, problem, kind == TermKind::kCausal);
    case TermKind::kDocuments:
      return RandomDocuments(rng, problem);
    case TermKind::kBoundaries:
      return RandomBoundaries(rng, problem);
    case TermKind::kDense:
    case TermKind::kBlocks:
      return RandomDense(rng, problem, kind == TermKind::kBlocks);
    case TermKind::kPrefixCausal:
      return RandomPrefix(rng, problem);
    case TermKind::kFunction:
      return RandomFunction(rng, problem);
    case TermKind::kTree:
      return RandomTree(rng, problem, depth);
  }
  return {};
}

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RANDOM_TERM_H_
