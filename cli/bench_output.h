// How `skipattn bench` shows its records: a table for people, JSON lines for programs.
#ifndef SKIPATTN_CLI_BENCH_OUTPUT_H_
#define SKIPATTN_CLI_BENCH_OUTPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "bench/cases.h"
#include "bench/run_case.h"
#include "cli/table.h"

namespace skipattn::cli {

struct BenchLine {
  const bench::Case& c;
  double ratio;
  std::string layout, empty_rows;
  uint64_t seed;
  bench::Record record;
};

class BenchOutput {
 public:
  BenchOutput(bool json, size_t lines);

  /// Progress, where someone watches: the next line is being measured.
  void Begin(const bench::Case& c, double ratio);

  void Add(const BenchLine& line);

  /// Prints what is left. False, with a line on stderr for each, if a result was wrong.
  bool End();

 private:
  void ClearProgress() const;

  const bool json_;
  const bool progress_;
  const size_t lines_;
  size_t begun_ = 0;
  std::string header_;
  Table table_{{}};  // its columns are those of the first line's case
  std::string wrong_;
};

}  // namespace skipattn::cli

#endif  // SKIPATTN_CLI_BENCH_OUTPUT_H_
