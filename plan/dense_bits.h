// Dense mask arrays as bits, scanned once per distinct plane.
#ifndef SKIPATTN_PLAN_DENSE_BITS_H_
#define SKIPATTN_PLAN_DENSE_BITS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "kernels/scan_bits.h"
#include "plan/mask_terms.h"
#include "plan/runs.h"
#include "skipattn/plan.h"

namespace skipattn {
inline namespace v0 {
namespace internal {

/// The bits of [queries or 1][keys or 1] of one (batch, head) plane.
struct BitMatrix {
  int64_t keys = 0;
  std::vector<uint64_t> words;
  /// Which row of `words` a query has. Equal neighbours share one, so that rows can be compared
  /// by their number.
  std::vector<int64_t> row_of;

  BitRow Row(int64_t number) const { return {words.data() + number * WordsFor(keys), keys}; }
};

/// The dense terms of a mask that have both a query and a key axis, joined by "and". A plane is
/// scanned when first asked for and kept: planes that read the same memory are the same object.
class DenseBits {
 public:
  DenseBits(const Problem& problem, std::vector<DenseView> views, ScanFunction scan);
  bool empty() const { return views_.empty(); }
  std::shared_ptr<const BitMatrix> PlaneOf(int64_t b, int64_t h);

 private:
  std::shared_ptr<const BitMatrix> Scan(int64_t b, int64_t h) const;
  void ScanRow(const DenseView& view, int64_t b, int64_t h, int64_t i, uint64_t* words) const;

  int64_t queries_, keys_;
  std::vector<DenseView> views_;
  ScanFunction scan_;
  std::map<std::vector<int64_t>, std::shared_ptr<const BitMatrix>> planes_;
};

}  // namespace internal
}  // namespace v0
}  // namespace skipattn

#endif  // SKIPATTN_PLAN_DENSE_BITS_H_
