// Plans and their runs.
#include "plan.h"

#include <nanobind/stl/string.h>

#include <chrono>
#include <string>

#include "arguments.h"
#include "call.h"
#include "settings.h"

namespace skipattn::python {
namespace {

/// A plan, and how its runs' arrays lie.
struct PyPlan {
  Plan plan;
  bool bthd;
  EmptyRows empty_rows;
};

/// A tensor without memory, of a shape that is any sequence of four integers.
ConstTensor ShapeOnly(const char* name, nb::handle shape, DType dtype, bool bthd) {
  const nb::object sizes = nb::steal(PySequence_Tuple(shape.ptr()));
  if (!sizes.is_valid()) {
    PyErr_Clear();
    BadType(name, shape, "four sizes");
  }
  ConstTensor tensor;
  tensor.dtype = dtype;
  for (nb::handle size : nb::borrow<nb::tuple>(sizes)) {
    if (tensor.rank < ConstTensor::kMaxRank) tensor.shape[tensor.rank] = Integer(name, size);
    ++tensor.rank;
  }
  CheckRank(name, tensor, bthd);
  return bthd ? tensor.SwapAxes(1, 2) : tensor;
}

PyPlan MakePyPlan(nb::handle q_shape, nb::handle k_shape, nb::handle v_shape, nb::handle dtype,
                  const PyMask* mask, const PyBias* bias, bool runs_bring_bias, bool sinks,
                  const nb::tuple& given, int warn_level) {
  const Settings settings = SettingsOf(given);
  const DType type = Choose<DType>("dtype", dtype, {{"float32", DType::kF32}}, "float32");
  RunArgs args;
  args.q = ShapeOnly("q_shape", q_shape, type, settings.bthd);
  args.k = ShapeOnly("k_shape", k_shape, type, settings.bthd);
  args.v = ShapeOnly("v_shape", v_shape, type, settings.bthd);
  CheckShapes(args, "_shape");
  Problem problem = ProblemFrom(args);
  problem.bias = runs_bring_bias;
  problem.sinks = sinks;
  PyPlan made{MakePlanWithoutGil(problem, mask, bias, settings.options), settings.bthd,
              settings.options.empty_rows};
  WarnIfUpsideDown(made.plan, mask, warn_level);
  return made;
}

/// A run's bias: an array of rank 4, or what skipattn.bias.dense gives.
void TakeBias(nb::handle bias, Call* call) {
  if (bias.is_none()) return;
  if (!nb::hasattr(bias, "compile")) {
    call->args.bias = KeepInput(&call->inputs, "bias", bias, Role::kTensor);
    return;
  }
  const nb::object compiled = bias.attr("compile")();
  PyBias* taken = nullptr;
  if (!nb::try_cast(compiled, taken) || !taken->values.given()) {
    BadType("bias", bias, "an array or skipattn.bias.dense: other biases belong to the plan");
  }
  call->inputs.insert(call->inputs.end(), taken->arrays.begin(), taken->arrays.end());
  call->args.bias = taken->values;
}

void TakeCarry(nb::handle carry, Call* call) {
  if (carry.is_none()) return;
  if (!nb::isinstance<nb::tuple>(carry) || nb::len(carry) != 3) {
    BadType("carry", carry, "what a run with return_carry gave: a tuple of max, sum and out");
  }
  const nb::tuple parts = nb::borrow<nb::tuple>(carry);
  call->args.carry_in.max = KeepInput(&call->inputs, "carry: max", parts[0], Role::kTensor);
  call->args.carry_in.sum = KeepInput(&call->inputs, "carry: sum", parts[1], Role::kTensor);
  call->args.carry_in.out = TakeFour("carry: out", parts[2], call);
}

/// Runs without a result but the state of the fold, which is in arrays like `like`.
nb::object RunToCarry(const PyPlan& self, nb::handle like, Call* call) {
  const Problem& p = self.plan.problem();
  const DType f32 = DType::kF32;
  Carry& state = call->args.carry_out;
  const nb::object max = NewArray(like, f32, {p.batch, p.heads, p.q_len}, &state.max);
  const nb::object sum = NewArray(like, f32, {p.batch, p.heads, p.q_len}, &state.sum);
  nb::object out;
  if (self.bthd) {
    out = NewArray(like, f32, {p.batch, p.q_len, p.heads, p.v_dim}, &state.out);
    state.out = state.out.SwapAxes(1, 2);
  } else {
    out = NewArray(like, f32, {p.batch, p.heads, p.q_len, p.v_dim}, &state.out);
  }
  RunWithoutGil(self.plan, call->args);
  return nb::make_tuple(max, sum, out);
}

nb::object RunPlan(const PyPlan& self, nb::handle q, nb::handle k, nb::handle v, nb::handle out,
                   nb::handle bias, nb::handle sinks, nb::handle carry, nb::handle return_lse,
                   nb::handle return_carry, nb::handle threads) {
  const bool give_lse = Truth("return_lse", return_lse);
  Call call(self.bthd);
  TakeInputs(q, k, v, &call);
  TakeBias(bias, &call);
  TakeSinks(sinks, &call);
  TakeCarry(carry, &call);
  call.args.threads = ThreadsOf(threads);
  if (Truth("return_carry", return_carry)) {
    if (!out.is_none() || give_lse) {
      Bad("return_carry", "True",
          "False where out or return_lse is given: they come of the last part");
    }
    return RunToCarry(self, q, &call);
  }
  TakeOutputs(self.plan.problem(), self.empty_rows, q, out, give_lse, &call);
  RunWithoutGil(self.plan, call.args);
  return Results(call);
}

/// Seconds of one run, without Python: what a call is measured against.
double TimeRuns(const PyPlan& self, nb::handle q, nb::handle k, nb::handle v, nb::handle out,
                int64_t runs) {
  Call call(self.bthd);
  TakeInputs(q, k, v, &call);
  TakeOutputs(self.plan.problem(), self.empty_rows, q, out, false, &call);
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t n = 0; n < runs; ++n) Check(self.plan.Run(call.args));
  const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / static_cast<double>(runs);
}

std::string StatsText(const PlanStats& s) {
  const auto number = [](const char* name, int64_t value) {
    return std::string(name) + "=" + std::to_string(value) + ", ";
  };
  return "PlanStats(" + number("live_pairs", s.live_pairs) + number("dense_pairs", s.dense_pairs) +
         number("empty_rows", s.empty_rows) + number("tiles", s.tiles) +
         number("skipped_blocks", s.skipped_blocks) + number("full_blocks", s.full_blocks) +
         number("partial_blocks", s.partial_blocks) + "config='" + s.config + "', target='" +
         s.target + "')";
}

}  // namespace

void BindPlan(nb::module_& module) {
  nb::class_<PlanStats>(module, "PlanStats", R"(What a plan will do.

A block is the part of a tile of query rows that meets one chunk of 128 keys.)")
      .def_ro("live_pairs", &PlanStats::live_pairs,
              "(query, key) pairs that the mask allows, over all heads")
      .def_ro("dense_pairs", &PlanStats::dense_pairs, "batch * heads * Tq * Tk")
      .def_ro("empty_rows", &PlanStats::empty_rows, "query rows without a key, over all heads")
      .def_ro("tiles", &PlanStats::tiles, "tiles of query rows")
      .def_ro("skipped_blocks", &PlanStats::skipped_blocks,
              "blocks in which no row attends a key: never touched")
      .def_ro("full_blocks", &PlanStats::full_blocks, "blocks in which no mask is looked at")
      .def_ro("partial_blocks", &PlanStats::partial_blocks, "blocks with both kinds of pairs")
      .def_ro("needs_bias", &PlanStats::needs_bias,
              "whether runs must bring a bias: not where all that it does is mask")
      .def_ro("config", &PlanStats::config, "name of the tile configuration")
      .def_ro("target", &PlanStats::target, "instruction set, or \"reference\"")
      .def("__repr__", &StatsText);

  nb::class_<PyPlan>(module, "Plan",
                     R"(A mask compiled for a problem: made once by skipattn.plan, run many times.

Immutable; may be run from several threads at once. Owns all that it needs.)")
      .def("run", &RunPlan, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
           nb::arg("out").none() = nb::none(), nb::arg("bias").none() = nb::none(),
           nb::arg("sinks").none() = nb::none(), nb::kw_only(),
           nb::arg("carry").none() = nb::none(), nb::arg("return_lse") = false,
           nb::arg("return_carry") = false, nb::arg("threads").none() = nb::none(),
           nb::sig("def run(self, q: typing.Any, k: typing.Any, v: typing.Any, "
                   "out: typing.Any = None, bias: typing.Any = None, sinks: typing.Any = None, *, "
                   "carry: tuple[typing.Any, typing.Any, typing.Any] | None = None, "
                   "return_lse: bool = False, return_carry: bool = False, "
                   "threads: int | None = None) -> typing.Any"),
           R"(Compute; see skipattn.attention for the arrays, their layout being the plan's.

Returns out, or (out, lse) with return_lse. threads: None = the plan's.
bias: the values of a dense bias, where the plan was made with one and its stats say needs_bias; they
may differ from those that the plan was made with, but mask the same pairs.
carry, return_carry: attention over keys that come in parts, a plan and a run for each, with the bits
of a single run over all. Every run but the last has return_carry, and returns the state of the fold,
float32 arrays (max [B, Hq, Tq], sum [B, Hq, Tq], out, like out); every run but the first is given
the state before it as carry. Parts meet at multiples of 128 keys from the origin of the whole, and
each part's plan has as key_origin that of the whole less the number of keys before it. Sinks are
the last run's.
Raises ValueError where an array is not what the plan was made for; nothing is written then.)")
      .def_prop_ro(
          "stats", [](const PyPlan& self) { return self.plan.stats(); },
          "What the plan will do, in numbers.")
      .def(
          "describe", [](const PyPlan& self) { return self.plan.Describe(); },
          "The plan for people: sizes, shares, configuration and a small picture of the mask.")
      .def("__repr__", [](const PyPlan& self) {
        const Problem& p = self.plan.problem();
        const auto text = [](const char* name, int64_t value) {
          return std::string(name) + "=" + std::to_string(value);
        };
        return "<skipattn.Plan " + text("B", p.batch) + " " + text("Hq", p.heads) + " " +
               text("Hkv", p.kv_heads) + " " + text("Tq", p.q_len) + " " + text("Tk", p.k_len) +
               " " + text("D", p.dim) + " " + text("Dv", p.v_dim) + ">";
      });

  // As the package's plan, but for the settings, which lie in a tuple; see SettingsOf.
  module.def("plan", &MakePyPlan, nb::arg("q_shape").none(), nb::arg("k_shape").none(),
             nb::arg("v_shape").none(), nb::arg("dtype").none(), nb::arg("mask").none(),
             nb::arg("bias").none(), nb::arg("runs_bring_bias"), nb::arg("sinks"),
             nb::arg("settings"), nb::arg("warn_level") = 2);
  module.def("time_runs", &TimeRuns, "Seconds of one run without Python, for benchmarks.");
}

}  // namespace skipattn::python
