// Dense masks to bits; see dense_bits.h.
#include "plan/dense_bits.h"

#include <algorithm>

#include "plan/term_runs.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

DenseBits::DenseBits(const Problem& problem, std::vector<DenseView> views, ScanFunction scan)
    : queries_(problem.q_len), keys_(problem.k_len), views_(std::move(views)), scan_(scan) {}

std::shared_ptr<const BitMatrix> DenseBits::PlaneOf(int64_t b, int64_t h) {
  std::vector<int64_t> place;  // where each array's plane begins
  for (const DenseView& view : views_) place.push_back(b * view.stride[0] + h * view.stride[1]);
  std::shared_ptr<const BitMatrix>& plane = planes_[place];
  if (plane == nullptr) plane = Scan(b, h);
  return plane;
}

std::shared_ptr<const BitMatrix> DenseBits::Scan(int64_t b, int64_t h) const {
  auto matrix = std::make_shared<BitMatrix>();
  const int64_t row_words = WordsFor(keys_);
  matrix->keys = keys_;
  matrix->row_of.resize(static_cast<size_t>(queries_));
  std::vector<uint64_t> row(static_cast<size_t>(row_words)), one(static_cast<size_t>(row_words));
  matrix->words.reserve(static_cast<size_t>(queries_ * row_words));
  int64_t rows = 0;
  for (int64_t i = 0; i < queries_; ++i) {
    ScanRow(views_[0], b, h, i, row.data());
    for (size_t n = 1; n < views_.size(); ++n) {
      ScanRow(views_[n], b, h, i, one.data());
      for (size_t w = 0; w < row.size(); ++w) row[w] &= one[w];
    }
    if (rows == 0 || !std::equal(row.begin(), row.end(), matrix->words.end() - row_words)) {
      matrix->words.insert(matrix->words.end(), row.begin(), row.end());
      ++rows;
    }
    matrix->row_of[static_cast<size_t>(i)] = rows - 1;
  }
  return matrix;
}

void DenseBits::ScanRow(const DenseView& view, int64_t b, int64_t h, int64_t i,
                        uint64_t* words) const {
  ScanElements(view, b * view.stride[0] + h * view.stride[1] + i * view.stride[2], view.stride[3],
               keys_, scan_, words);
}

}  // namespace internal
}  // namespace v0
}  // namespace skipattn
