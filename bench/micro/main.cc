// skipattn_benchmarks: the library and its parts under Google Benchmark.
#include <benchmark/benchmark.h>

#include <string>

#include "bench/micro/micro.h"
#include "cli/machine.h"
#include "skipattn/targets.h"
#include "skipattn/version.h"

namespace {

// What a reader of a stored run has to know.
void AddContext() {
  std::string targets;
  for (const auto& target : skipattn::bench::MicroTargets()) {
    targets += (targets.empty() ? "" : " ") + target.name;
  }
  benchmark::AddCustomContext("cpu", skipattn::cli::CpuModel());
  benchmark::AddCustomContext("targets", targets);
  benchmark::AddCustomContext("compiler", skipattn::cli::Compiler());
  benchmark::AddCustomContext("threads", std::to_string(skipattn::AvailableThreads()));
  benchmark::AddCustomContext("skipattn", skipattn::Version());
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  AddContext();
  for (const auto& target : skipattn::bench::MicroTargets()) {
    skipattn::bench::RegisterAttention(target);
    skipattn::bench::RegisterTiles(target);
    skipattn::bench::RegisterParts(target);
    skipattn::bench::RegisterPlans(target);
  }
  const bool none = benchmark::RunSpecifiedBenchmarks() == 0;  // a filter that matches nothing
  benchmark::Shutdown();
  return none || skipattn::bench::AnyWorkWrong() ? 1 : 0;
}
