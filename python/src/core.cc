// skipattn._core: the library for the Python package, which checks and documents what users call.
#include <nanobind/nanobind.h>

#include "arguments.h"
#include "bias.h"
#include "functions.h"
#include "mask.h"
#include "plan.h"
#include "skipattn/attention.h"

namespace skipattn::python {
namespace {

nb::dict Info() {
  nb::list targets;
  for (const TargetInfo& target : CompiledTargets()) {
    nb::dict entry;
    entry["name"] = target.name.c_str();
    entry["supported"] = target.supported;
    entry["exact"] = target.exact;
    entry["lanes"] = target.lanes;
    nb::list names;
    const Result<std::vector<std::string>> configs = TileConfigs(target.name);
    Check(configs.status());
    for (const std::string& name : *configs) names.append(name.c_str());
    entry["configs"] = names;
    targets.append(entry);
  }
  nb::dict info;
  info["version"] = Version();
  info["arithmetic_version"] = ArithmeticVersion();
  info["target"] = BestTarget().c_str();
  info["targets"] = targets;
  info["threads"] = AvailableThreads();
#if defined(__clang__)
  info["compiler"] = "clang " __clang_version__;
#else
  info["compiler"] = "gcc " __VERSION__;
#endif
  info["openmp"] = SKIPATTN_PYTHON_OPENMP != 0;
  return info;
}

}  // namespace
}  // namespace skipattn::python

NB_MODULE(_core, module) {
  // The library never prints, and a plan may live as long as the process.
  nanobind::set_leak_warnings(false);
  module.doc() = "The compiled part of skipattn; use the package.";
  module.def("info", &skipattn::python::Info);
  skipattn::python::BindMask(module);
  skipattn::python::BindBias(module);
  skipattn::python::BindPlan(module);
  skipattn::python::BindFunctions(module);
}
