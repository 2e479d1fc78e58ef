// skipattn info: what this build has, and what this machine is.
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/machine.h"
#include "cli/table.h"
#include "skipattn/attention.h"

namespace skipattn::cli {
namespace {

using Json = nlohmann::ordered_json;

std::vector<std::string> ConfigsOf(const std::string& target) {
  const Result<std::vector<std::string>> configs = TileConfigs(target);
  return configs.ok() ? *configs : std::vector<std::string>{};
}

Json ToJson() {
  Json json;
  json["version"] = Version();
  json["arithmetic_version"] = ArithmeticVersion();
  json["compiler"] = Compiler();
  json["openmp"] = HasOpenMp();
  json["cpu"] = CpuModel();
  json["threads"] = AvailableThreads();
  json["target"] = BestTarget();
  json["targets"] = Json::array();
  for (const TargetInfo& target : CompiledTargets()) {
    json["targets"].push_back({{"name", target.name},
                               {"supported", target.supported},
                               {"exact", target.exact},
                               {"lanes", target.lanes},
                               {"configs", ConfigsOf(target.name)}});
  }
  json["caches"] = Json::array();
  for (const Cache& cache : Caches()) {
    json["caches"].push_back(
        {{"level", cache.level}, {"type", cache.type}, {"size", cache.size}, {"cpus", cache.cpus}});
  }
  return json;
}

std::string CachesText() {
  std::string text;
  for (const Cache& cache : Caches()) {
    text += (text.empty() ? "" : ", ") + std::string("L") + cache.level + " " + cache.type + " " +
            cache.size + " (cpu " + cache.cpus + ")";
  }
  return text.empty() ? "unknown" : text;
}

void PrintText() {
  Table facts({"<skipattn", std::string("<") + Version()});
  facts.Add({"arithmetic", std::to_string(ArithmeticVersion())});
  facts.Add({"compiler", Compiler()});
  facts.Add({"OpenMP", HasOpenMp() ? "yes" : "no"});
  facts.Add({"cpu", CpuModel()});
  facts.Add({"caches", CachesText()});
  facts.Add({"threads", std::to_string(AvailableThreads())});

  Table targets({"<target", "<", "lanes", "<exact", "<tile configurations, the default first"});
  for (const TargetInfo& target : CompiledTargets()) {
    const bool chosen = target.name == BestTarget();
    std::string configs;
    for (const std::string& config : ConfigsOf(target.name)) {
      configs += (configs.empty() ? "" : " ") + config;
    }
    targets.Add({target.name,
                 chosen             ? "chosen"
                 : target.supported ? "supported"
                                    : "not on this CPU",
                 target.supported ? std::to_string(target.lanes) : "-", target.exact ? "yes" : "no",
                 configs});
  }
  std::cout << facts.ToString() << "\n" << targets.ToString();
}

}  // namespace

void AddInfo(CLI::App* app) {
  CLI::App* command = app->add_subcommand("info", "Targets, caches, threads of this machine");
  command->footer("Example:\n  skipattn info --json | jq .target");
  const auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "One JSON object instead of text");
  command->callback([json] {
    if (*json) {
      std::cout << ToJson().dump() << "\n";
    } else {
      PrintText();
    }
  });
}

}  // namespace skipattn::cli
