// Trees of terms; see term_tree.h.
#include "plan/term_tree.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "plan/documents.h"

namespace skipattn {
inline namespace v0 {
namespace internal {
namespace {

// Bits are left to rows of more runs than that, and to intervals of more than this share of the
// keys.
constexpr int64_t kFewRuns = 8;
constexpr int64_t kLeastBitsShare = 4;

/// Calls f(w) for the words that have bits of `within`.
template <typename F>
void ForEachWord(const Run& within, F f) {
  for (int64_t w = within.begin / 64; w * 64 < within.end; ++w) f(w);
}

/// The elements of a term that only bits will do for.
std::optional<DenseView> PlaneOf(const Term& term) {
  if (const auto* dense = std::get_if<DenseTerm>(&term); dense && IsPlane(*dense)) {
    return ViewOf(*dense);
  }
  const auto* blocks = std::get_if<BlocksTerm>(&term);
  if (blocks && blocks->block_q == 1 && blocks->block_k == 1) return ViewOf(*blocks);
  return std::nullopt;
}

void SetRun(uint64_t* words, int64_t begin, int64_t end) {
  if (begin >= end) return;
  ForEachWord({begin, end}, [&](int64_t w) { words[w] |= RangeWord(begin, end, w); });
}

}  // namespace

bool TermTree::Holds(const Term& term) {
  return std::holds_alternative<BlocksTerm>(term) || std::holds_alternative<FunctionTerm>(term) ||
         std::holds_alternative<OrTerm>(term) || std::holds_alternative<NotTerm>(term);
}

TermTree::TermTree(const Problem& problem, const std::vector<Term>& terms, ScanFunction scan)
    : problem_(problem), scan_(scan), root_{Kind::kAnd}, plane_bits_{Kind::kBits} {
  for (const Term& term : terms) {
    if (Holds(term)) root_.of.push_back(MakeNode(term));
  }
  PutCheapFirst(root_.of);
  slides_ = Slides(root_);
}

/// What these leave is all that the others are asked about.
void TermTree::PutCheapFirst(std::vector<Node>& nodes) {
  std::stable_sort(nodes.begin(), nodes.end(),
                   [](const Node& a, const Node& b) { return a.kind < b.kind; });
}

TermTree::Node TermTree::MakeNode(const Term& term) const {
  Node node = {Kind::kSets, &term};
  if (const auto* either = std::get_if<OrTerm>(&term)) {
    node.kind = Kind::kOr;
    for (const auto& one : either->of) node.of.push_back(MakeAnd(one->terms));
  } else if (const auto* negation = std::get_if<NotTerm>(&term)) {
    node.kind = Kind::kNot;
    node.of.push_back(MakeAnd(negation->of->terms));
  } else if (const auto plane = PlaneOf(term)) {
    node.kind = Kind::kBits;
    node.dense = std::make_shared<DenseBits>(problem_, std::vector<DenseView>{*plane}, scan_);
  } else if (std::holds_alternative<FunctionTerm>(term)) {
    node.kind = Kind::kFunction;
  } else if (std::holds_alternative<BandTerm>(term) || std::holds_alternative<PrefixTerm>(term)) {
    node.kind = Kind::kBand;
  }
  return node;
}

TermTree::Node TermTree::MakeAnd(const std::vector<Term>& terms) const {
  Node node = {Kind::kAnd};
  for (const Term& term : terms) node.of.push_back(MakeNode(term));
  PutCheapFirst(node.of);
  if (node.of.size() == 1) return Node(std::move(node.of[0]));
  return node;
}

void TermTree::SelectPlane(int64_t b, int64_t h, std::shared_ptr<const BitMatrix> bits) {
  b_ = b;
  h_ = h;
  plane_bits_.bits = std::move(bits);
  Select(root_);
}

void TermTree::Select(Node& node) const {
  for (Node& one : node.of) Select(one);
  if (node.kind == Kind::kSets) SelectSets(node);
  if (node.kind == Kind::kBits) node.bits = node.dense->PlaneOf(b_, h_);
  if (node.kind == Kind::kBand) {
    const auto* band = std::get_if<BandTerm>(node.term);
    node.band = band != nullptr ? BandOf(problem_, *band, b_)
                                : BandOf(problem_, std::get<PrefixTerm>(*node.term), b_);
  }
}

void TermTree::SelectSets(Node& node) const {
  node.sets.clear();
  node.set_of_group.clear();
  if (const auto* blocks = std::get_if<BlocksTerm>(node.term)) return SelectBlocks(*blocks, node);
  if (std::holds_alternative<DocumentsTerm>(*node.term)) {
    DocumentSplit split = SplitDocuments(problem_, {*node.term}, b_, {{0, problem_.k_len}});
    node.sets = std::move(split.keys);
    node.set_of_group = std::move(split.of_query);
    return;
  }
  node.sets.push_back(TermRuns(problem_, *node.term, true, b_, h_, scan_));
  const Runs queries = TermRuns(problem_, *node.term, false, b_, h_, scan_);
  if (queries == Runs{{0, problem_.q_len}}) return;
  node.set_of_group.assign(static_cast<size_t>(problem_.q_len), -1);
  for (const Run& run : queries) {
    std::fill(node.set_of_group.begin() + run.begin, node.set_of_group.begin() + run.end, 0);
  }
}

void TermTree::SelectBlocks(const BlocksTerm& term, Node& node) const {
  const DenseView view = ViewOf(term);
  const int64_t rows = view.stride[2] == 0 ? 1 : BlockCount(problem_.q_len, term.block_q);
  const int64_t columns = BlockCount(problem_.k_len, term.block_k);
  for (int64_t row = 0; row < rows; ++row) {
    Runs keys =
        BoolRuns(view.data + b_ * view.stride[0] + h_ * view.stride[1] + row * view.stride[2],
                 view.stride[3], columns, scan_);
    for (Run& run : keys) {
      run.begin *= term.block_k;
      run.end = run.end == columns ? problem_.k_len : run.end * term.block_k;
    }
    if (rows == 1) {
      node.sets.push_back(std::move(keys));
      return;
    }
    // Equal neighbours are one set, so that their rows are seen to be equal.
    if (node.sets.empty() || !(keys == node.sets.back())) node.sets.push_back(std::move(keys));
    node.set_of_group.push_back(static_cast<int32_t>(node.sets.size()) - 1);
  }
  node.group_rows = term.block_q;
}

bool TermTree::Slides(const Node& node) {
  return node.kind == Kind::kBand || node.kind == Kind::kFunction ||
         std::any_of(node.of.begin(), node.of.end(), [](const Node& one) { return Slides(one); });
}

bool TermTree::SameKeys(int64_t i, int64_t other) const {
  return SameKeys(root_, i, other) &&
         (plane_bits_.bits == nullptr || SameKeys(plane_bits_, i, other));
}

bool TermTree::SameKeys(const Node& node, int64_t i, int64_t other) {
  if (node.kind == Kind::kSets) return node.SetOf(i) == node.SetOf(other);
  if (node.kind == Kind::kBits) {
    const std::vector<int64_t>& row_of = node.bits->row_of;
    return row_of[static_cast<size_t>(i)] == row_of[static_cast<size_t>(other)];
  }
  if (node.kind == Kind::kBand || node.kind == Kind::kFunction) return i == other;
  return std::all_of(node.of.begin(), node.of.end(),
                     [&](const Node& one) { return SameKeys(one, i, other); });
}

int64_t TermTree::MostRuns(const Node& node, int64_t i) const {
  if (node.kind == Kind::kBand) return 1;
  if (node.kind == Kind::kBits || node.kind == Kind::kFunction) return problem_.k_len;
  int64_t runs = 0;
  if (node.kind == Kind::kSets) {
    const int32_t set = node.SetOf(i);
    runs = set < 0 ? 0 : static_cast<int64_t>(node.sets[static_cast<size_t>(set)].size());
  }
  for (const Node& one : node.of) runs += MostRuns(one, i);
  return runs;
}

bool TermTree::WantsBits(int64_t i, const Run& within) const {
  if ((within.end - within.begin) * kLeastBitsShare < problem_.k_len) return false;
  return plane_bits_.bits != nullptr ||
         MostRuns(root_, i) > std::max(kFewRuns, WordsFor(problem_.k_len));
}

const Runs& TermTree::KeysOf(int64_t i, const Run& within) {
  FindKeys(root_, i, within, 0, found_);
  if (plane_bits_.bits != nullptr) JoinKeys(plane_bits_, i, 0, found_);
  return found_;
}

void TermTree::FindKeys(const Node& node, int64_t i, const Run& within, size_t depth, Runs& keys) {
  if (rooms_.size() <= depth) rooms_.resize(depth + 1);
  Runs &part = rooms_[depth].part, &joined = rooms_[depth].joined;
  keys.clear();
  switch (node.kind) {
    case Kind::kBand:
      Append(keys, std::max(within.begin, node.band.LowerOf(i)),
             std::min(within.end, node.band.UpperOf(i)));
      return;
    case Kind::kSets:
      if (const int32_t set = node.SetOf(i); set >= 0) {
        Clip(node.sets[static_cast<size_t>(set)], within, keys);
      }
      return;
    case Kind::kBits:
      RunsOf(node.bits->Row(node.bits->row_of[static_cast<size_t>(i)]), within, keys);
      return;
    case Kind::kFunction:
      CallFunction(node, i, {within}, keys);
      return;
    case Kind::kNot:
      FindKeys(node.of[0], i, within, depth + 1, part);
      Complement(part, within, keys);
      return;
    case Kind::kOr:
      for (const Node& one : node.of) {
        FindKeys(one, i, within, depth + 1, part);
        Unite(keys, part, joined);
        std::swap(keys, joined);
      }
      return;
    case Kind::kAnd:
      Append(keys, within.begin, within.end);
      for (const Node& one : node.of) JoinKeys(one, i, depth, keys);
      return;
  }
}

/// Leaves those of `keys` that the node has too, and asks it about no others than lie between them.
void TermTree::JoinKeys(const Node& node, int64_t i, size_t depth, Runs& keys) {
  if (keys.empty()) return;
  Runs &part = rooms_[depth].part, &joined = rooms_[depth].joined;
  if (node.kind == Kind::kFunction) {
    CallFunction(node, i, keys, joined);
  } else {
    FindKeys(node, i, {keys.front().begin, keys.back().end}, depth + 1, part);
    Intersect(keys, part, joined);
  }
  std::swap(keys, joined);
}

/// The keys of a function among some, called for no others.
void TermTree::CallFunction(const Node& node, int64_t i, const Runs& among, Runs& keys) const {
  const auto& function = std::get<FunctionTerm>(*node.term);
  keys.clear();
  for (const Run& run : among) {
    for (int64_t j = run.begin; j < run.end; ++j) {
      if (internal::CallFunction(function, b_, h_, i, j)) Append(keys, j, j + 1);
    }
  }
}

std::vector<uint64_t> TermTree::BitsOf(int64_t i, const Run& within) {
  std::vector<uint64_t> words(static_cast<size_t>(WordsFor(problem_.k_len)));
  FillBits(root_, i, within, words.data());
  const uint64_t* plane = nullptr;
  if (const BitMatrix* bits = plane_bits_.bits.get()) {
    plane = bits->Row(bits->row_of[static_cast<size_t>(i)]).words;
  }
  ForEachWord(within, [&](int64_t w) {
    words[static_cast<size_t>(w)] &=
        RangeWord(within.begin, within.end, w) & (plane != nullptr ? plane[w] : ~uint64_t{0});
  });
  return words;
}

/// Sets the words of `within`, which are 0 before; bits of them outside `within` may be anything
/// after.
void TermTree::FillBits(const Node& node, int64_t i, const Run& within, uint64_t* words) {
  const auto fill_other = [&](const Node& one) {
    std::vector<uint64_t> other(static_cast<size_t>(WordsFor(problem_.k_len)));
    FillBits(one, i, within, other.data());
    return other;
  };
  switch (node.kind) {
    case Kind::kBand:
    case Kind::kSets:
    case Kind::kFunction:
      FindKeys(node, i, within, 0, found_);
      for (const Run& run : found_) SetRun(words, run.begin, run.end);
      return;
    case Kind::kBits: {
      const BitRow row = node.bits->Row(node.bits->row_of[static_cast<size_t>(i)]);
      ForEachWord(within, [&](int64_t w) { words[w] = row.words[w]; });
      return;
    }
    case Kind::kNot:
      FillBits(node.of[0], i, within, words);
      ForEachWord(within, [&](int64_t w) { words[w] = ~words[w]; });
      return;
    case Kind::kOr:
      for (const Node& one : node.of) {
        const std::vector<uint64_t> other = fill_other(one);
        ForEachWord(within, [&](int64_t w) { words[w] |= other[static_cast<size_t>(w)]; });
      }
      return;
    case Kind::kAnd:
      break;
  }
  SetRun(words, within.begin, within.end);
  for (const Node& one : node.of) {
    if (one.kind == Kind::kFunction) {
      Runs among, keys;
      RunsOf({words, problem_.k_len}, within, among);
      CallFunction(one, i, among, keys);
      ForEachWord(within, [&](int64_t w) { words[w] = 0; });
      for (const Run& run : keys) SetRun(words, run.begin, run.end);
    } else {
      const std::vector<uint64_t> other = fill_other(one);
      ForEachWord(within, [&](int64_t w) { words[w] &= other[static_cast<size_t>(w)]; });
    }
  }
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
