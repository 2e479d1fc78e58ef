// Terms that are more than one interval of a key set ("or", "not", blocks, functions): the keys of
// a row as runs where it has few, as bits where it has many.
#ifndef SKIPATTN_PLAN_TERM_TREE_H_
#define SKIPATTN_PLAN_TERM_TREE_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "kernels/scan_bits.h"
#include "plan/dense_bits.h"
#include "plan/mask_terms.h"
#include "plan/runs.h"
#include "plan/term_runs.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// Those terms of a conjunction that `Holds` names, joined by "and", for one plane at a time.
class TermTree {
 public:
  static bool Holds(const Term& term);

  /// The terms, and what is in them, are borrowed.
  TermTree(const Problem& problem, const std::vector<Term>& terms, ScanFunction scan);

  /// Without a term it allows everything, and nothing below may be called.
  bool empty() const { return root_.of.empty(); }

  /// Makes (b, h) the plane that is asked about. `bits`: a dense plane to be joined by "and" too,
  /// or null.
  void SelectPlane(int64_t b, int64_t h, std::shared_ptr<const BitMatrix> bits);

  /// Whether each row has keys of its own, as with a diagonal.
  bool slides() const { return slides_; }

  /// Whether two rows surely have the same keys.
  bool SameKeys(int64_t i, int64_t other) const;

  /// Whether the keys of a row are better asked for as bits. Runs cost their number, bits the
  /// length of the row, so those are for rows of many runs.
  bool WantsBits(int64_t i, const Run& within) const;

  /// The keys of a row in `within`, until the next call.
  const Runs& KeysOf(int64_t i, const Run& within);

  /// The same as bits of a whole row, of which those outside `within` are 0.
  std::vector<uint64_t> BitsOf(int64_t i, const Run& within);

 private:
  enum class Kind : uint8_t { kBand, kSets, kNot, kOr, kAnd, kBits, kFunction };

  /// A term as what it is on the selected plane.
  struct Node {
    Kind kind;
    const Term* term = nullptr;
    std::vector<Node> of = {};  // kAnd, kOr, kNot (which holds one)
    Band band = {};             // kBand
    // kSets: row i attends the keys of sets[set_of_group[i / group_rows]]; -1 = none. Without
    // groups, those of the first set.
    std::vector<Runs> sets = {};
    std::vector<int32_t> set_of_group = {};
    int64_t group_rows = 1;
    std::shared_ptr<DenseBits> dense = nullptr;  // kBits
    std::shared_ptr<const BitMatrix> bits = nullptr;

    int32_t SetOf(int64_t i) const {
      return set_of_group.empty() ? 0 : set_of_group[static_cast<size_t>(i / group_rows)];
    }
  };

  Node MakeNode(const Term& term) const;
  Node MakeAnd(const std::vector<Term>& terms) const;
  static void PutCheapFirst(std::vector<Node>& nodes);
  void Select(Node& node) const;
  void SelectSets(Node& node) const;
  void SelectBlocks(const BlocksTerm& term, Node& node) const;

  static bool Slides(const Node& node);
  static bool SameKeys(const Node& node, int64_t i, int64_t other);
  int64_t MostRuns(const Node& node, int64_t i) const;
  void FindKeys(const Node& node, int64_t i, const Run& within, size_t depth, Runs& keys);
  void JoinKeys(const Node& node, int64_t i, size_t depth, Runs& keys);
  void CallFunction(const Node& node, int64_t i, const Runs& among, Runs& keys) const;
  void FillBits(const Node& node, int64_t i, const Run& within, uint64_t* words);

  const Problem problem_;
  const ScanFunction scan_;
  Node root_;
  Node plane_bits_;  // joined to the root by "and" where it has bits
  int64_t b_ = 0, h_ = 0;
  bool slides_ = false;

  // Room for the runs of inner nodes, kept from row to row: one of each at each depth.
  struct Room {
    Runs part, joined;
  };
  std::deque<Room> rooms_;
  Runs found_;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_TERM_TREE_H_
