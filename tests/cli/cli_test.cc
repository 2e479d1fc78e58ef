// The built command, run as a user runs it.
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

namespace {

using Json = nlohmann::json;

struct Output {
  int code = -1;
  std::string out, err;
};

std::string Slurp(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// A file of its own for each test: ctest runs them side by side.
std::string TempFile(const std::string& suffix) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  return ::testing::TempDir() + "skipattn_cli_" + test->name() + suffix;
}

Output Skipattn(const std::string& arguments) {
  const std::string err = TempFile(".err");
  const std::string line = std::string(SKIPATTN_COMMAND) + " " + arguments + " 2>" + err;
  Output output;
  FILE* pipe = popen(line.c_str(), "r");
  if (pipe == nullptr) return output;
  char buffer[4096];
  for (size_t n; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) output.out.append(buffer, n);
  const int status = pclose(pipe);
  output.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  output.err = Slurp(err);
  std::remove(err.c_str());
  return output;
}

std::vector<Json> JsonLines(const std::string& text) {
  std::vector<Json> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(Json::parse(line));
  return lines;
}

const char kTiny[] =
    " --batch 2 --heads 2 --seq 24 --dim 8 --threads 1 --repeat 1 --min-time 0 --json ";

// Bad usage: code 2, nothing on stdout, one line on stderr that has `word` in it.
void ExpectUsageError(const std::string& arguments, const std::string& word) {
  const Output output = Skipattn(arguments);
  EXPECT_EQ(output.code, 2) << arguments;
  EXPECT_EQ(output.out, "") << arguments;
  EXPECT_EQ(output.err.find('\n'), output.err.size() - 1) << arguments << "\n" << output.err;
  EXPECT_NE(output.err.find(word), std::string::npos) << arguments << "\n" << output.err;
}

TEST(Help, IsThereForEveryCommand) {
  for (const std::string command : {"", "info ", "bench ", "explain "}) {
    const Output output = Skipattn(command + "--help");
    EXPECT_EQ(output.code, 0) << command;
    EXPECT_EQ(output.err, "") << command;
    EXPECT_NE(output.out.find(command.empty() ? "explain" : "Example:\n  skipattn " + command),
              std::string::npos)
        << output.out;
  }
  EXPECT_EQ(Skipattn("--version").out.rfind("skipattn ", 0), 0u);
}

TEST(Usage, ErrorsAreOneLineThatNamesTheFlag) {
  ExpectUsageError("", "info, bench or explain");
  ExpectUsageError("fly", "fly");
  ExpectUsageError("info --fly", "--fly");
  ExpectUsageError("bench", "case");
  ExpectUsageError("bench diagonal", "diagonal");
  for (const std::string flag :
       {"--seq 0", "--heads x", "--batch -1", "--ratios 0,2", "--threads -1", "--threads 100000",
        "--seed -1", "--repeat 0", "--empty-rows nan", "--layout thbd", "--target MMX",
        "--config 1x1x1", "--kv-heads 5", "--text /no/such/file", "--lengths /no/such/file",
        "--window 8", "--kv-seq 8", "--text LICENSE --ratios 0"}) {
    ExpectUsageError("bench padding " + flag, flag.substr(0, flag.find(' ')));
  }
  ExpectUsageError("bench causal --text LICENSE", "--text");
  ExpectUsageError("bench window --causal", "--causal");
  ExpectUsageError("bench terms --form dense", "--form");
  ExpectUsageError("bench terms --ratios .5", "--ratios");
  for (const std::string flag : {"--causal middle", "--window 1", "--window 1,x", "--window -2,0",
                                 "--key-range 5", "--key-lengths 99", "--documents 60,60",
                                 "--padding 2", "--key-range 0:99", "--key-lengths 1,2 --batch 3",
                                 "--causal --kv-seq 8", "--prefix 3", "--prefix 99 --causal"}) {
    ExpectUsageError("explain " + flag, flag.substr(0, flag.find(' ')));
  }
}

TEST(Info, ListsTargets) {
  const Output text = Skipattn("info");
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("chosen"), std::string::npos) << text.out;

  const std::vector<Json> lines = JsonLines(Skipattn("info --json").out);
  ASSERT_EQ(lines.size(), 1u);
  for (const char* key : {"version", "arithmetic_version", "compiler", "openmp", "cpu", "threads",
                          "target", "targets", "caches"}) {
    EXPECT_TRUE(lines[0].contains(key)) << key;
  }
  bool chosen = false;
  for (const Json& target : lines[0]["targets"]) {
    if (target["name"] != lines[0]["target"]) continue;
    chosen = true;
    EXPECT_TRUE(target["supported"]);
    EXPECT_GT(target["lanes"], 0);
    EXPECT_FALSE(target["configs"].empty());
  }
  EXPECT_TRUE(chosen);
}

TEST(Bench, JsonHasEveryKey) {
  const Output output = Skipattn(std::string("bench padding") + kTiny + "--ratios 0,.5");
  ASSERT_EQ(output.code, 0) << output.err;
  EXPECT_EQ(output.err, "");
  const std::vector<Json> lines = JsonLines(output.out);
  ASSERT_EQ(lines.size(), 2u);
  for (const char* key :
       {"case", "ratio", "live_share", "ms", "min_ms", "dense_ms", "speedup", "ideal_speedup",
        "live_gflops", "peak_gflops", "peak_share", "threads", "target", "config", "plan_ms",
        "max_abs_err", "err_bound_ok", "bits_equal", "hash"}) {
    EXPECT_TRUE(lines[0].contains(key)) << key;
  }
  EXPECT_EQ(lines[0]["live_share"], 1);
  EXPECT_EQ(lines[1]["live_share"], 0.25);
  EXPECT_EQ(lines[1]["ideal_speedup"], 4);
  EXPECT_EQ(lines[1]["ratio"], 0.5);
  EXPECT_EQ(lines[1]["bits_equal"], true);
  EXPECT_EQ(lines[1]["err_bound_ok"], true);
  EXPECT_EQ(lines[1]["hash"].get<std::string>().size(), 16u);
}

TEST(Bench, EveryCaseRuns) {
  const std::pair<const char*, double> kLiveShare[] = {{"causal", 25.0 / 48},
                                                       {"window --window 1", 1.0 / 24},
                                                       {"documents --docs 1", 1.0},
                                                       {"documents --docs 1 --causal", 25.0 / 48},
                                                       {"causal --form dense", 25.0 / 48},
                                                       {"causal --form bias", 25.0 / 48},
                                                       {"cross --kv-seq 6 --ratios .5", 0.5}};
  for (const auto& [arguments, live_share] : kLiveShare) {
    const Output output = Skipattn(std::string("bench ") + arguments + kTiny);
    ASSERT_EQ(output.code, 0) << output.err;
    const std::vector<Json> lines = JsonLines(output.out);
    ASSERT_EQ(lines.size(), 1u) << arguments;
    EXPECT_DOUBLE_EQ(lines[0]["live_share"], live_share) << arguments;
    EXPECT_EQ(lines[0]["bits_equal"], true) << arguments;
  }
}

TEST(Bench, ALineForEachTerm) {
  const Output output = Skipattn(std::string("bench terms") + kTiny);
  ASSERT_EQ(output.code, 0) << output.err;
  std::vector<std::string> terms;
  for (const Json& line : JsonLines(output.out)) {
    terms.push_back(line["term"]);
    EXPECT_EQ(line["bits_equal"], true) << terms.back();
  }
  EXPECT_EQ(terms, (std::vector<std::string>{"softcap", "alibi", "relative", "bias", "sinks"}));
}

TEST(Bench, SequencesOfTextAndLengths) {
  const std::string file = TempFile(".txt");
  const std::string flags = " --heads 1 --dim 8 --threads 1 --repeat 1 --min-time 0 --json";
  std::ofstream(file) << "one two, three\n\nfour\n";
  const Output text = Skipattn("bench padding --text " + file + flags);
  std::ofstream(file) << "4 1";
  const Output lengths = Skipattn("bench padding --lengths " + file + flags);
  const Output cut = Skipattn("bench padding --lengths " + file + flags + " --seq 2");
  std::remove(file.c_str());
  for (const Output* output : {&text, &lengths}) {
    ASSERT_EQ(output->code, 0) << output->err;
    const Json line = JsonLines(output->out).at(0);
    EXPECT_EQ(line["batch"], 2);
    EXPECT_EQ(line["seq"], 4);
    EXPECT_DOUBLE_EQ(line["live_share"], 17.0 / 32);
  }
  ASSERT_EQ(cut.code, 0) << cut.err;
  EXPECT_EQ(JsonLines(cut.out).at(0)["seq"], 2);
  EXPECT_DOUBLE_EQ(JsonLines(cut.out).at(0)["live_share"], 5.0 / 8);
}

TEST(Bench, HashDependsOnTheSeedAlone) {
  const auto hash = [](const std::string& flags) {
    return JsonLines(Skipattn(std::string("bench causal") + kTiny + flags).out).at(0)["hash"];
  };
  const Json first = hash("");
  EXPECT_EQ(hash("--layout bthd"), first);
  EXPECT_EQ(hash("--seed 1"), first);
  EXPECT_NE(hash("--seed 2"), first);
}

TEST(Bench, TableForPeople) {
  const Output output = Skipattn(
      "bench padding --batch 1 --heads 1 --seq 16 --dim 8 --threads 1 --repeat 1 --min-time 0");
  ASSERT_EQ(output.code, 0) << output.err;
  for (const char* word : {"1 thread\n", "GFLOP/s", "ideal", "90.0%", "┃", "equal"}) {
    EXPECT_NE(output.out.find(word), std::string::npos) << word << "\n" << output.out;
  }
}

TEST(Explain, JsonCountsTheMask) {
  const auto explain = [](const std::string& flags) {
    const Output output = Skipattn("explain --json --seq 8 " + flags);
    EXPECT_EQ(output.code, 0) << flags << "\n" << output.err;
    return output.code == 0 ? Json::parse(output.out) : Json{{"live_pairs", -1}};
  };
  EXPECT_EQ(explain("")["live_pairs"], 64);
  EXPECT_EQ(explain("--key-lengths 5,3")["live_pairs"], 8 * (5 + 3));
  EXPECT_EQ(explain("--key-range 0:5,2:4")["live_pairs"], 8 * (5 + 2));
  EXPECT_EQ(explain("--causal")["live_pairs"], 36);
  EXPECT_EQ(explain("--causal -1")["empty_rows"], 1);
  EXPECT_EQ(explain("--causal --prefix 3")["live_pairs"], 36 + 2 + 1);
  EXPECT_EQ(explain("--causal bottom_right --kv-seq 10")["live_pairs"], 36 + 16);
  EXPECT_EQ(explain("--window 1,0")["live_pairs"], 15);
  EXPECT_EQ(explain("--window 0,0,bottom_right --kv-seq 10")["live_pairs"], 8);
  EXPECT_EQ(explain("--documents 5,2 --batch 2 --heads 3")["live_pairs"], 6 * (25 + 4));
  EXPECT_EQ(explain("--padding .5")["empty_rows"], 4);
  EXPECT_EQ(explain("--padding .5 --causal")["live_pairs"], 10);
}

TEST(Explain, DrawsAMaskFromAFile) {
  const std::string npy = TempFile(".npy"), svg = TempFile(".svg");
  const std::string dict = "{'descr': '|b1', 'fortran_order': False, 'shape': (3, 4), }\n";
  std::ofstream(npy, std::ios::binary)
      << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(dict.size()) << '\0' << dict
      << std::string("\1\0\0\0\1\1\0\0\0\0\0\0", 12);
  const Output output =
      Skipattn("explain --json --dense " + npy + " --axes qk --batch 2 --entry 1 --svg " + svg);
  ASSERT_EQ(output.code, 0) << output.err;
  const Json line = Json::parse(output.out);
  EXPECT_EQ(line["dense_pairs"], 2 * 12);
  EXPECT_EQ(line["live_pairs"], 2 * 3);
  EXPECT_EQ(line["empty_rows"], 2);
  const std::string drawing = Slurp(svg);
  EXPECT_NE(drawing.find("3 queries (down) x 4 keys (across), batch entry 1"), std::string::npos);
  ExpectUsageError("explain --dense " + npy, "axes");
  ExpectUsageError("explain --dense " + npy + " --axes qk --kv-seq 5", "--dense");
  ExpectUsageError("explain --svg " + svg + " --entry 1", "--entry");
  ExpectUsageError("explain --svg /no/such/folder/x.svg", "--svg");
  std::remove(npy.c_str());
  std::remove(svg.c_str());
  ExpectUsageError("explain --dense " + npy, "--dense");
}

TEST(Explain, TellsWhatABiasFromAFileMasks) {
  const std::string npy = TempFile(".npy");
  const std::string dict = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n";
  const float numbers[6] = {0, -INFINITY, -INFINITY, 0, -1e9f, 0};
  std::ofstream(npy, std::ios::binary)
      << "\x93NUMPY" << '\1' << '\0' << static_cast<char>(dict.size()) << '\0' << dict
      << std::string(reinterpret_cast<const char*>(numbers), sizeof(numbers));
  const Output output = Skipattn("explain --json --bias " + npy + " --bias-axes qk");
  ASSERT_EQ(output.code, 0) << output.err;
  const Json line = Json::parse(output.out);
  EXPECT_EQ(line["bias"], "dense(qk)");
  EXPECT_EQ(line["needs_bias"], true);
  EXPECT_EQ(line["live_pairs"], 4);
  EXPECT_EQ(line["dense_pairs"], 6);
  EXPECT_NE(Skipattn("explain --bias " + npy + " --bias-axes qk").out.find("-inf masks"),
            std::string::npos);
  ExpectUsageError("explain --bias " + npy, "axes");
  ExpectUsageError("explain --dense " + npy + " --axes qk", "bool");
  ExpectUsageError("explain --bias-axes qk", "--bias");
  std::remove(npy.c_str());
}

TEST(Explain, TextForPeople) {
  const Output output = Skipattn("explain --seq 64 --causal");
  EXPECT_EQ(output.code, 0) << output.err;
  EXPECT_NE(output.out.find("live"), std::string::npos) << output.out;
}

}  // namespace
