// Attention in one call, its float64 definition, and the merge of two results.
#include "functions.h"

#include <algorithm>
#include <optional>

#include "arguments.h"
#include "call.h"
#include "settings.h"

namespace skipattn::python {
namespace {

nb::object Attention(nb::handle q, nb::handle k, nb::handle v, const PyMask* mask,
                     const PyBias* bias, nb::handle sinks, nb::handle out, nb::handle return_lse,
                     const nb::tuple& given) {
  const Settings settings = SettingsOf(given);
  const bool lse = Truth("return_lse", return_lse);
  Call call(settings.bthd);
  TakeInputs(q, k, v, &call);
  TakeSinks(sinks, &call);
  CheckShapes(call.args, "");
  const Plan plan = MakePlanWithoutGil(ProblemFrom(call.args), mask, bias, settings.options);
  WarnIfUpsideDown(plan, mask, 2);  // the caller of skipattn.attention
  if (bias != nullptr && bias->values.given() && plan.stats().needs_bias) {
    call.args.bias = bias->values;
  }
  TakeOutputs(plan.problem(), settings.options.empty_rows, q, out, lse, &call);
  RunWithoutGil(plan, call.args);
  return Results(call);
}

Status Run64(const Reference& reference, const Problem& p, const Call& call, double* out,
             double* lse) {
  for (int64_t b = 0; b < p.batch; ++b) {
    for (int64_t h = 0; h < p.heads; ++h) {
      for (int64_t i = 0; i < p.q_len; ++i) {
        const Result<Float64Row> row = reference.Row64(call.args, b, h, i);
        if (!row.ok()) return row.status();
        const int64_t at = (b * p.heads + h) * p.q_len + i;
        const int64_t out_at = call.bthd ? (b * p.q_len + i) * p.heads + h : at;
        std::copy(row->out.begin(), row->out.end(), out + out_at * p.v_dim);
        lse[at] = row->lse;
      }
    }
  }
  return {};
}

nb::object Reference64(nb::handle q, nb::handle k, nb::handle v, const PyMask* mask,
                       const PyBias* bias, nb::handle sinks, nb::handle return_lse,
                       const nb::tuple& given) {
  const Settings settings = SettingsOf(given);
  const bool give_lse = Truth("return_lse", return_lse);
  Call call(settings.bthd);
  TakeInputs(q, k, v, &call);
  TakeSinks(sinks, &call);
  CheckShapes(call.args, "");
  if (bias != nullptr) call.args.bias = bias->values;
  Problem p = ProblemFrom(call.args);
  std::optional<Result<Reference>> made;
  {
    const nb::gil_scoped_release release;
    made.emplace(Reference::Make(p, mask != nullptr ? mask->mask : Mask(),
                                 bias != nullptr ? bias->bias : Bias(), settings.options));
  }
  Check(made->status());
  double *out = nullptr, *lse = nullptr;
  call.out_object = call.bthd ? NewFloat64(q, {p.batch, p.q_len, p.heads, p.v_dim}, &out)
                              : NewFloat64(q, {p.batch, p.heads, p.q_len, p.v_dim}, &out);
  const nb::object lse_object = NewFloat64(q, {p.batch, p.heads, p.q_len}, &lse);
  if (give_lse) call.lse_object = lse_object;
  Status status;
  {
    const nb::gil_scoped_release release;
    status = Run64(**made, p, call, out, lse);
  }
  Check(status);
  return Results(call);
}

nb::object MergeResults(nb::handle out_a, nb::handle lse_a, nb::handle out_b, nb::handle lse_b,
                        nb::handle layout) {
  Call call(LayoutOf(layout));
  MergeArgs args;
  args.out_a = TakeFour("out_a", out_a, &call);
  args.lse_a = KeepInput(&call.inputs, "lse_a", lse_a, Role::kTensor);
  args.out_b = TakeFour("out_b", out_b, &call);
  args.lse_b = KeepInput(&call.inputs, "lse_b", lse_b, Role::kTensor);
  Problem p;
  p.batch = args.out_a.shape[0];
  p.heads = args.out_a.shape[1];
  p.q_len = args.out_a.shape[2];
  p.v_dim = args.out_a.shape[3];
  TakeOutputs(p, EmptyRows::kZero, out_a, nb::none(), true, &call);
  args.out = call.args.out;
  args.lse = call.args.lse;
  Status status;
  {
    const nb::gil_scoped_release release;
    status = Merge(args);
  }
  Check(status);
  return Results(call);
}

}  // namespace

void BindFunctions(nb::module_& module) {
  // Their arguments are those of the package's functions; the settings lie in a tuple, see
  // SettingsOf.
  module.def("attention", &Attention, nb::arg("q").none(), nb::arg("k").none(), nb::arg("v").none(),
             nb::arg("mask").none(), nb::arg("bias").none(), nb::arg("sinks").none(),
             nb::arg("out").none(), nb::arg("return_lse").none(), nb::arg("settings"));
  module.def("reference64", &Reference64, nb::arg("q").none(), nb::arg("k").none(),
             nb::arg("v").none(), nb::arg("mask").none(), nb::arg("bias").none(),
             nb::arg("sinks").none(), nb::arg("return_lse").none(), nb::arg("settings"));
  module.def("merge", &MergeResults, nb::arg("out_a").none(), nb::arg("lse_a").none(),
             nb::arg("out_b").none(), nb::arg("lse_b").none(), nb::arg("layout").none(),
             nb::sig("def merge(out_a: object, lse_a: object, out_b: object, lse_b: object, "
                     "layout: object) -> tuple[typing.Any, typing.Any]"));
}

}  // namespace skipattn::python
