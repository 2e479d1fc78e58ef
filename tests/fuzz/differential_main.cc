// The differential runner: problem after problem from rising seeds, until a time or a number of
// them is reached, or the files of a fuzzer one by one.
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/run_one.h"

namespace {

using Clock = std::chrono::steady_clock;

constexpr unsigned kMostSeconds = 120;  // for one problem, before it counts as hanging
constexpr int64_t kMostFailures = 10;
constexpr std::chrono::seconds kProgress{10};

// What to say when a problem ends the process; made before it starts, as a signal handler can do
// nothing else.
char last_words[256];

void SayLastWords(int signal) {
  const ssize_t ignored = write(STDOUT_FILENO, last_words, std::strlen(last_words));
  static_cast<void>(ignored);
  ::signal(signal, SIG_DFL);
  raise(signal);
}

/// Counts problems and says what is wrong with them.
class Runner {
 public:
  Runner() : start_(Clock::now()), last_progress_(start_) {
    for (int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGALRM}) {
      ::signal(signal, &SayLastWords);
    }
  }

  template <class Run>
  void One(const std::string& name, Run run) {
    std::snprintf(last_words, sizeof(last_words), "%s ended the process or took %u seconds\n",
                  name.c_str(), kMostSeconds);
    alarm(kMostSeconds);
    const std::string wrong = run();
    alarm(0);
    ++problems_;
    if (!wrong.empty()) {
      ++failures_;
      std::printf("%s: %s\n", name.c_str(), wrong.c_str());
      std::fflush(stdout);
    }
    if (Clock::now() - last_progress_ > kProgress) {
      last_progress_ = Clock::now();
      Count(", at " + name);
    }
  }

  void Count(const std::string& where) const {
    std::printf("%lld problems, %lld failures%s\n", static_cast<long long>(problems_),
                static_cast<long long>(failures_), where.c_str());
    std::fflush(stdout);
  }

  double Seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  int64_t failures() const { return failures_; }

 private:
  const Clock::time_point start_;
  Clock::time_point last_progress_;
  int64_t problems_ = 0, failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  uint64_t seed = (uint64_t{std::random_device()()} << 16) % 1'000'000'000'000;
  int64_t problems = 0;
  double seconds = 0;
  std::vector<std::string> files;
  CLI::App app("Compares random attention problems with the exact reference, bit for bit.");
  app.add_option("--seed", seed, "First seed; any one if left out");
  app.add_option("--problems", problems, "How many seeds; 0 = no limit");
  app.add_option("--seconds", seconds, "How long; 0 = no limit");
  app.add_option("FILES", files, "Inputs of libFuzzer to run instead")->check(CLI::ExistingFile);
  CLI11_PARSE(app, argc, argv);

  Runner runner;
  for (const std::string& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
    runner.One(file, [&] {
      return skipattn::test::RunOne(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    });
  }
  if (files.empty()) {
    std::printf("first seed %llu\n", static_cast<unsigned long long>(seed));
    for (int64_t n = 0; problems == 0 || n < problems; ++n, ++seed) {
      if (seconds > 0 && runner.Seconds() >= seconds) break;
      if (runner.failures() == kMostFailures) break;
      runner.One("seed " + std::to_string(seed), [&] { return skipattn::test::RunOne(seed); });
    }
  }
  runner.Count("");
  return runner.failures() == 0 ? 0 : 1;
}
