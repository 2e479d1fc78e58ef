// Whether the output of a benchmark run is right: a speed of wrong numbers is no speed.
#ifndef SKIPATTN_BENCH_VERIFY_H_
#define SKIPATTN_BENCH_VERIFY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cases.h"
#include "skipattn/attention.h"

namespace skipattn::bench {

struct Verification {
  double max_abs_err = 0;   ///< against float64
  bool bound_ok = true;     ///< every error is within the bound of the exact arithmetic
  bool bits_equal = true;   ///< every checked row has the bits of the exact reference
  int64_t rows = 0;         ///< checked
  std::string first_wrong;  ///< "b 0 h 3 i 17" of the first row that is not as it should be
};

/// A query row.
struct Row {
  int64_t b, h, i;
  bool operator==(const Row& other) const { return b == other.b && h == other.h && i == other.i; }
};

/// The rows that Verify looks at: all of a small problem; otherwise, of the first, last, shortest
/// and longest sequence, the rows at both ends, at the edge of the padding and of the first chunk,
/// and some between, each in another head. The same for the same spec.
std::vector<Row> RowsToCheck(const CaseSpec& spec);

/// Compares `args.out`, which a run with `options` has written, row by row. Rows without a key must
/// be 0, or still `unwritten` where the options, which include the case's softcap, keep them.
Result<Verification> Verify(const Case& c, const AttentionOptions& options, const RunArgs& args,
                            float unwritten);

/// FNV-1a over the bytes of all rows in the order {batch, head, position}, whatever the layout.
uint64_t HashOf(const ConstTensor& out);

}  // namespace skipattn::bench

#endif  // SKIPATTN_BENCH_VERIFY_H_
