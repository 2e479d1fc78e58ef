// Random conjunctions of mask terms, and of trees of them, that own their arrays, with the
// predicate they stand for.
//
//   Rng rng(seed);
//   const RandomMask random(rng, problem);
//   MakePlan(problem, random.mask, ...);  random.Allows(b, h, i, j);  SCOPED_TRACE(random.text);
#ifndef SKIPATTN_TESTS_RANDOM_MASK_H_
#define SKIPATTN_TESTS_RANDOM_MASK_H_

#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "skipattn/mask.h"
#include "skipattn/plan.h"
#include "tests/random_array.h"
#include "tests/random_term.h"

namespace skipattn::test {

class RandomMask {
 public:
  /// Any terms, from none to one of each kind.
  RandomMask(Rng& rng, const Problem& problem) : RandomMask(rng, problem, RandomKinds(rng)) {}

  /// Terms of these kinds; those that do not fit the problem are left out.
  RandomMask(Rng& rng, const Problem& problem, const std::vector<TermKind>& kinds)
      : problem_(problem) {
    for (const TermKind kind : kinds) {
      if (!Fits(kind, problem)) continue;
      terms_.push_back(MakeRandomTerm(rng, problem, kind));
      // Most conjunctions would be empty: a term that makes it so is mostly drawn again.
      for (int retry = 0; retry < 5 && !OneIn(rng, 5) && !AllowsAnything(); ++retry) {
        terms_.back() = MakeRandomTerm(rng, problem, kind);
      }
      mask &= terms_.back().mask;
      text += (text.empty() ? "" : " & ") + terms_.back().text;
    }
    if (text.empty()) text = "everything";
  }

  /// Whether query i of head h attends key j.
  bool Allows(int64_t b, int64_t h, int64_t i, int64_t j) const {
    for (const RandomTerm& term : terms_) {
      if (!term.allows(b, h, i, j)) return false;
    }
    return true;
  }

  /// The same with causal, window and prefix_causal terms counted as true: what the origin of a
  /// chunk grid is made from.
  bool AllowsWide(int64_t b, int64_t h, int64_t i, int64_t j) const {
    for (const RandomTerm& term : terms_) {
      if (!term.band && !term.allows(b, h, i, j)) return false;
    }
    return true;
  }

  /// For each query of (b, h): the lowest key that any row of its document (without documents
  /// terms, any row) attends in the sense of AllowsWide; k_len if there is none.
  std::vector<int64_t> Origins(int64_t b, int64_t h) const {
    std::map<std::vector<int64_t>, int64_t> lowest;
    for (int64_t i = 0; i < problem_.q_len; ++i) {
      int64_t& key = lowest.emplace(DocumentsOf(b, i), problem_.k_len).first->second;
      int64_t j = 0;
      while (j < key && !AllowsWide(b, h, i, j)) ++j;
      key = j;
    }
    std::vector<int64_t> origins;
    for (int64_t i = 0; i < problem_.q_len; ++i) origins.push_back(lowest[DocumentsOf(b, i)]);
    return origins;
  }

  /// The document of query i in each documents term.
  std::vector<int64_t> DocumentsOf(int64_t b, int64_t i) const {
    std::vector<int64_t> documents;
    for (const RandomTerm& term : terms_) {
      if (term.document != nullptr) documents.push_back(term.document(b, i));
    }
    return documents;
  }

  Mask mask;
  std::string text;

 private:
  static std::vector<TermKind> RandomKinds(Rng& rng) {
    std::vector<TermKind> kinds;
    const int64_t count = PickOf(rng, {0, 1, 1, 1, 2, 2, 2, 3, 3, 4});
    const bool all = OneIn(rng, 10);
    for (const TermKind kind : kTermKinds) {
      if (all) kinds.push_back(kind);
    }
    while (!all && static_cast<int64_t>(kinds.size()) < count) {
      kinds.push_back(OneIn(rng, 5) ? TermKind::kTree
                                    : kTermKinds[Uniform(rng, 0, std::size(kTermKinds) - 1)]);
    }
    return kinds;
  }

  bool AllowsAnything() const {
    for (int64_t b = 0; b < problem_.batch; ++b) {
      for (int64_t h = 0; h < problem_.heads; ++h) {
        for (int64_t i = 0; i < problem_.q_len; ++i) {
          for (int64_t j = 0; j < problem_.k_len; ++j) {
            if (Allows(b, h, i, j)) return true;
          }
        }
      }
    }
    return false;
  }

  Problem problem_;
  std::vector<RandomTerm> terms_;
};

}  // namespace skipattn::test

#endif  // SKIPATTN_TESTS_RANDOM_MASK_H_
