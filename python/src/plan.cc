// Plans and the calls that run them.
#include "plan.h"

#include <nanobind/stl/string.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "array.h"
#include "mask.h"
#include "skipattn/attention.h"

namespace skipattn::python {
namespace {

/// A choice by name.
template <typename Enum>
Enum Choose(const char* what, nb::handle object,
            std::initializer_list<std::pair<const char*, Enum>> choices, const char* names) {
  const std::string name = Text(what, object);
  for (const auto& [known, value] : choices) {
    if (name == known) return value;
  }
  Bad(what, "\"" + name + "\"", names);
}

/// Everything about a call that is neither an array of it nor its mask, in the order in which the
/// package gives it.
struct Settings {
  AttentionOptions options;
  bool bthd = false;
};

std::vector<int64_t> OriginsOf(nb::handle object) {
  if (object.is_none()) return {};
  if (IsInteger(object)) return {Integer("key_origin", object)};
  const Input input = TakeInput("key_origin", object, Role::kInts);
  const ConstTensor& view = input.view;
  if (view.rank != 1) Bad("key_origin: rank", std::to_string(view.rank), "1: [batch]");
  if (view.dtype != DType::kI32 && view.dtype != DType::kI64) {
    Bad("key_origin: dtype", DTypeName(view.dtype), "int32 or int64");
  }
  std::vector<int64_t> origins;
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    const int64_t at = b * view.stride[0];
    origins.push_back(view.dtype == DType::kI32 ? static_cast<const int32_t*>(view.data)[at]
                                                : static_cast<const int64_t*>(view.data)[at]);
  }
  return origins;
}

int ThreadsOf(nb::handle object) {
  if (object.is_none()) return 0;
  const int64_t threads = Integer("threads", object);
  // What does not fit is as wrong as a negative number.
  return threads == static_cast<int>(threads) ? static_cast<int>(threads) : -1;
}

bool LayoutOf(nb::handle layout) {
  return Choose<bool>("layout", layout, {{"bhtd", false}, {"bthd", true}},
                      "\"bhtd\" ([batch, heads, length, dim]) or \"bthd\" ([batch, length, heads, "
                      "dim])");
}

Settings SettingsOf(const nb::tuple& given) {
  if (given.size() != 9) Fail(PyExc_TypeError, "settings are a tuple of nine");
  Settings settings;
  AttentionOptions& options = settings.options;
  if (!given[0].is_none()) options.scale = Number("scale", given[0]);
  options.empty_rows = Choose<EmptyRows>("empty_rows", given[1],
                                         {{"zero", EmptyRows::kZero},
                                          {"keep", EmptyRows::kKeep},
                                          {"uniform", EmptyRows::kUniform},
                                          {"nan", EmptyRows::kNan}},
                                         "\"zero\", \"uniform\", \"nan\" or \"keep\"");
  options.precision = Choose<Precision>("precision", given[2], {{"exact", Precision::kExact}},
                                        "\"exact\" (\"fast\" is not supported by this version)");
  options.backend = Choose<Backend>("backend", given[3],
                                    {{"auto", Backend::kAuto}, {"reference", Backend::kReference}},
                                    "\"auto\" or \"reference\"");
  options.threads = ThreadsOf(given[4]);
  options.key_origin = OriginsOf(given[5]);
  if (!given[6].is_none()) options.config = Text("config", given[6]);
  settings.bthd = LayoutOf(given[7]);
  if (!given[8].is_none()) options.softcap = Number("softcap", given[8]);
  return settings;
}

bool IsTrue(nb::handle return_lse) {
  const int truth = PyObject_IsTrue(return_lse.ptr());
  if (truth < 0) {
    PyErr_Clear();
    BadType("return_lse", return_lse, "True or False");
  }
  return truth == 1;
}

void CheckRank(const char* name, const ConstTensor& view, bool bthd) {
  if (view.rank == 4) return;
  Bad(std::string(name) + ": rank", std::to_string(view.rank),
      bthd ? "4: [batch, length, heads, dim]" : "4: [batch, heads, length, dim]");
}

/// Where the shapes disagree: a plan knows one size of each, and may take long to make.
void CheckShapes(const RunArgs& args, const char* suffix) {
  const auto same = [&](const char* name, const char* axis, int64_t is, const char* other,
                        int64_t expected) {
    if (is == expected) return;
    Bad(std::string(name) + suffix + ": " + axis, std::to_string(is),
        std::to_string(expected) + " as in " + other + suffix);
  };
  same("k", "batch", args.k.shape[0], "q", args.q.shape[0]);
  same("v", "batch", args.v.shape[0], "q", args.q.shape[0]);
  same("k", "dim", args.k.shape[3], "q", args.q.shape[3]);
  same("v", "heads", args.v.shape[1], "k", args.k.shape[1]);
  same("v", "length", args.v.shape[2], "k", args.k.shape[2]);
}

/// The arrays of one call, as the library addresses them.
struct Arrays {
  Input q, k, v, sinks;
  Output out;
  nb::object out_object, lse_object;
  RunArgs args;
};

void TakeInputs(nb::handle q, nb::handle k, nb::handle v, bool bthd, Arrays* arrays) {
  const auto take = [&](const char* name, nb::handle object, Input* input, ConstTensor* view) {
    *input = TakeInput(name, object, Role::kTensor);
    CheckRank(name, input->view, bthd);
    *view = bthd ? input->view.SwapAxes(1, 2) : input->view;
  };
  take("q", q, &arrays->q, &arrays->args.q);
  take("k", k, &arrays->k, &arrays->args.k);
  take("v", v, &arrays->v, &arrays->args.v);
}

void TakeSinks(nb::handle sinks, Arrays* arrays) {
  if (sinks.is_none()) return;
  arrays->sinks = TakeInput("sinks", sinks, Role::kTensor);
  arrays->args.sinks = arrays->sinks.view;
}

void TakeOutputs(const Problem& p, nb::handle like, nb::handle out, bool return_lse, bool bthd,
                 EmptyRows empty_rows, Arrays* arrays) {
  RunArgs& args = arrays->args;
  if (!out.is_none()) {
    arrays->out = TakeOutput("out", out);
    CheckRank("out", arrays->out.view, bthd);
    arrays->out_object = nb::borrow(out);
    args.out = arrays->out.view;
  } else if (empty_rows == EmptyRows::kKeep) {
    Bad("out", "None", "an array: with empty_rows=\"keep\" its empty rows stay as they are");
  } else if (bthd) {
    arrays->out_object =
        NewArray(like, p.out_dtype, {p.batch, p.q_len, p.heads, p.v_dim}, &args.out);
  } else {
    arrays->out_object =
        NewArray(like, p.out_dtype, {p.batch, p.heads, p.q_len, p.v_dim}, &args.out);
  }
  if (bthd) args.out = args.out.SwapAxes(1, 2);
  if (return_lse) {
    arrays->lse_object = NewArray(like, DType::kF32, {p.batch, p.heads, p.q_len}, &args.lse);
  }
}

nb::object Results(const Arrays& arrays, bool return_lse) {
  if (!return_lse) return arrays.out_object;
  return nb::make_tuple(arrays.out_object, arrays.lse_object);
}

Problem ProblemFrom(const RunArgs& args) {
  Problem p;
  p.batch = args.q.shape[0];
  p.heads = args.q.shape[1];
  p.q_len = args.q.shape[2];
  p.dim = args.q.shape[3];
  p.kv_heads = args.k.shape[1];
  p.k_len = args.k.shape[2];
  p.v_dim = args.v.shape[3];
  p.q_dtype = p.out_dtype = args.q.dtype;
  p.kv_dtype = args.k.dtype;
  p.sinks = args.sinks.given();
  return p;
}

Plan MakePlanWithoutGil(const Problem& problem, const PyMask* mask,
                        const AttentionOptions& options) {
  std::optional<Result<Plan>> plan;
  {
    const nb::gil_scoped_release release;
    plan.emplace(MakePlan(problem, mask != nullptr ? mask->mask : Mask(), options));
  }
  Check(plan->status());
  return **plan;
}

/// A mask of bools whose true means "ignore" often leaves most rows without a key. The warning
/// names the caller `level` Python functions up, 1 being the one that runs; 0 = no warning.
void WarnIfUpsideDown(const Plan& plan, const PyMask* mask, int level) {
  if (level == 0 || mask == nullptr || !mask->key_bools || mask->query_terms) return;
  const PlanStats stats = plan.stats();
  const Problem& p = plan.problem();
  const int64_t rows = p.batch * p.heads * p.q_len;
  if (2 * stats.empty_rows <= rows || p.k_len == 0) return;
  const std::string message =
      std::to_string(stats.empty_rows) + " of " + std::to_string(rows) +
      " query rows attend no key and give 0: true must mean attend; if true marks what to ignore, "
      "pass ~mask";
  if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), level) < 0) throw nb::python_error();
}

void RunWithoutGil(const Plan& plan, const RunArgs& args) {
  Status status;
  {
    const nb::gil_scoped_release release;
    status = plan.Run(args);
  }
  Check(status);
}

nb::object RunNow(const Plan& plan, nb::handle like, nb::handle out, bool return_lse, bool bthd,
                  EmptyRows empty_rows, Arrays* arrays) {
  TakeOutputs(plan.problem(), like, out, return_lse, bthd, empty_rows, arrays);
  RunWithoutGil(plan, arrays->args);
  return Results(*arrays, return_lse);
}

nb::object Attention(nb::handle q, nb::handle k, nb::handle v, const PyMask* mask, nb::handle sinks,
                     nb::handle out, nb::handle return_lse, const nb::tuple& given) {
  const Settings settings = SettingsOf(given);
  const bool lse = IsTrue(return_lse);
  Arrays arrays;
  TakeInputs(q, k, v, settings.bthd, &arrays);
  TakeSinks(sinks, &arrays);
  CheckShapes(arrays.args, "");
  const Plan plan = MakePlanWithoutGil(ProblemFrom(arrays.args), mask, settings.options);
  WarnIfUpsideDown(plan, mask, 2);  // the caller of skipattn.attention
  return RunNow(plan, q, out, lse, settings.bthd, settings.options.empty_rows, &arrays);
}

Status Run64(const Reference& reference, const Problem& p, const RunArgs& args, bool bthd,
             double* out, double* lse) {
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        const Result<Float64Row> row = reference.Row64(args, b, h, i);
        if (!row.ok()) return row.status();
        const int64_t at = (b * p.heads + h) * p.q_len + i;
        const int64_t out_at = bthd ? (b * p.q_len + i) * p.heads + h : at;
        std::copy(row->out.begin(), row->out.end(), out + out_at * p.v_dim);
        lse[at] = row->lse;
      }
    }
  }
  return {};
}

nb::object Reference64(nb::handle q, nb::handle k, nb::handle v, const PyMask* mask,
                       nb::handle sinks, nb::handle return_lse, const nb::tuple& given) {
  const Settings settings = SettingsOf(given);
  const bool give_lse = IsTrue(return_lse);
  Arrays arrays;
  TakeInputs(q, k, v, settings.bthd, &arrays);
  TakeSinks(sinks, &arrays);
  CheckShapes(arrays.args, "");
  const Problem p = ProblemFrom(arrays.args);
  std::optional<Result<Reference>> made;
  {
    const nb::gil_scoped_release release;
    made.emplace(Reference::Make(p, mask != nullptr ? mask->mask : Mask(), settings.options));
  }
  Check(made->status());
  double *out = nullptr, *lse = nullptr;
  arrays.out_object = settings.bthd ? NewFloat64(q, {p.batch, p.q_len, p.heads, p.v_dim}, &out)
                                    : NewFloat64(q, {p.batch, p.heads, p.q_len, p.v_dim}, &out);
  arrays.lse_object = NewFloat64(q, {p.batch, p.heads, p.q_len}, &lse);
  Status status;
  {
    const nb::gil_scoped_release release;
    status = Run64(**made, p, arrays.args, settings.bthd, out, lse);
  }
  Check(status);
  return Results(arrays, give_lse);
}

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
                  const PyMask* mask, bool sinks, const nb::tuple& given, int warn_level) {
  const Settings settings = SettingsOf(given);
  const DType type = Choose<DType>("dtype", dtype, {{"float32", DType::kF32}}, "float32");
  RunArgs args;
  args.q = ShapeOnly("q_shape", q_shape, type, settings.bthd);
  args.k = ShapeOnly("k_shape", k_shape, type, settings.bthd);
  args.v = ShapeOnly("v_shape", v_shape, type, settings.bthd);
  CheckShapes(args, "_shape");
  Problem problem = ProblemFrom(args);
  problem.sinks = sinks;
  PyPlan made{MakePlanWithoutGil(problem, mask, settings.options), settings.bthd,
              settings.options.empty_rows};
  WarnIfUpsideDown(made.plan, mask, warn_level);
  return made;
}

nb::object RunPlan(const PyPlan& self, nb::handle q, nb::handle k, nb::handle v, nb::handle out,
                   nb::handle bias, nb::handle sinks, nb::handle return_lse, nb::handle threads) {
  if (!bias.is_none()) Fail(PyExc_ValueError, "bias is not supported by this version");
  Arrays arrays;
  TakeInputs(q, k, v, self.bthd, &arrays);
  TakeSinks(sinks, &arrays);
  arrays.args.threads = ThreadsOf(threads);
  return RunNow(self.plan, q, out, IsTrue(return_lse), self.bthd, self.empty_rows, &arrays);
}

/// Seconds of one run, without Python: what a call is measured against.
double TimeRuns(const PyPlan& self, nb::handle q, nb::handle k, nb::handle v, nb::handle out,
                int64_t runs) {
  Arrays arrays;
  TakeInputs(q, k, v, self.bthd, &arrays);
  TakeOutputs(self.plan.problem(), q, out, false, self.bthd, self.empty_rows, &arrays);
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t n = 0; n < runs; ++n) Check(self.plan.Run(arrays.args));
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
      .def_ro("config", &PlanStats::config, "name of the tile configuration")
      .def_ro("target", &PlanStats::target, "instruction set, or \"reference\"")
      .def("__repr__", &StatsText);

  nb::class_<PyPlan>(module, "Plan",
                     R"(A mask compiled for a problem: made once by skipattn.plan, run many times.

Immutable; may be run from several threads at once. Owns all that it needs.)")
      .def("run", &RunPlan, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
           nb::arg("out").none() = nb::none(), nb::arg("bias").none() = nb::none(),
           nb::arg("sinks").none() = nb::none(), nb::kw_only(), nb::arg("return_lse") = false,
           nb::arg("threads").none() = nb::none(),
           nb::sig("def run(self, q: typing.Any, k: typing.Any, v: typing.Any, "
                   "out: typing.Any = None, bias: typing.Any = None, sinks: typing.Any = None, *, "
                   "return_lse: bool = False, threads: int | None = None) -> typing.Any"),
           R"(Compute; see skipattn.attention for the arrays, their layout being the plan's.

Returns out, or (out, lse) with return_lse. threads: None = the plan's.
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

  // Their arguments are those of the package's functions; the settings lie in a tuple: scale,
  // empty_rows, precision, backend, threads, key_origin, config, layout, softcap.
  module.def("attention", &Attention, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("mask").none(), nb::arg("sinks").none(), nb::arg("out").none(),
             nb::arg("return_lse").none(), nb::arg("settings"));
  module.def("reference64", &Reference64, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("mask").none(), nb::arg("sinks").none(),
             nb::arg("return_lse").none(), nb::arg("settings"));
  module.def("plan", &MakePyPlan, nb::arg("q_shape").none(), nb::arg("k_shape").none(),
             nb::arg("v_shape").none(), nb::arg("dtype").none(), nb::arg("mask").none(),
             nb::arg("sinks"), nb::arg("settings"), nb::arg("warn_level") = 2);
  module.def("time_runs", &TimeRuns, "Seconds of one run without Python, for benchmarks.");
}

}  // namespace skipattn::python
