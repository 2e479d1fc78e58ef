// Documents terms; see documents.h.
#include "plan/documents.h"

#include <cstddef>
#include <unordered_map>
#include <variant>

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

/// Renumbers positions by (number so far, id in one more term). Queries and keys go through the
/// same object, so that they get the same numbers.
class Splitter {
 public:
  explicit Splitter(const DocumentsTerm& term) : term_(term) {}

  void Split(const ConstTensor& ids, int64_t b, std::vector<int32_t>& of) {
    int64_t id = 0;
    for (size_t t = 0; t < of.size(); ++t) {
      const int64_t at = static_cast<int64_t>(t);
      if (term_.boundaries) {
        while (IntAt(ids, id + 1) <= at) ++id;
      } else {
        id = IntAt(ids, b, at);
      }
      of[t] = id < 0 || of[t] < 0 ? -1 : Number(of[t], id);
    }
  }

  size_t count() const { return static_cast<size_t>(count_); }

 private:
  int32_t Number(int32_t before, int64_t id) {
    if (before == last_before_ && id == last_id_)
      return last_;  // documents are mostly in one piece
    last_before_ = before;
    last_id_ = id;
    if (numbers_.size() <= static_cast<size_t>(before)) {
      numbers_.resize(static_cast<size_t>(before) + 1);
    }
    const auto [place, fresh] = numbers_[static_cast<size_t>(before)].emplace(id, count_);
    count_ += fresh ? 1 : 0;
    return last_ = place->second;
  }

  const DocumentsTerm& term_;
  std::vector<std::unordered_map<int64_t, int32_t>> numbers_;  // [number before][id]
  int32_t count_ = 0;
  int32_t last_before_ = -1, last_ = -1;
  int64_t last_id_ = -1;
};

}  // namespace

DocumentSplit SplitDocuments(const Problem& problem, const std::vector<Term>& terms, int64_t b,
                             const Runs& keys) {
  DocumentSplit split;
  std::vector<int32_t> of_key;
  size_t count = 0;
  for (const Term& term : terms) {
    const auto* documents = std::get_if<DocumentsTerm>(&term);
    if (documents == nullptr) continue;
    split.of_query.resize(static_cast<size_t>(problem.q_len), 0);
    of_key.resize(static_cast<size_t>(problem.k_len), 0);
    Splitter splitter(*documents);
    splitter.Split(documents->q, b, split.of_query);
    splitter.Split(documents->k, b, of_key);
    count = splitter.count();
  }
  if (split.of_query.empty()) {
    split.keys.push_back(keys);
    return split;
  }
  split.keys.resize(count);
  for (const Run& run : keys) {
    for (int64_t j = run.begin; j < run.end; ++j) {
      const int32_t document = of_key[static_cast<size_t>(j)];
      if (document >= 0) Append(split.keys[static_cast<size_t>(document)], j, j + 1);
    }
  }
  return split;
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
