// What every call does with its arrays; see call.h.
#include "call.h"

#include <optional>
#include <string>
#include <utility>

#include "arguments.h"

namespace skipattn::python {

ConstTensor TakeFour(const char* name, nb::handle object, Call* call) {
  const ConstTensor view = KeepInput(&call->inputs, name, object, Role::kTensor);
  CheckRank(name, view, call->bthd);
  return call->bthd ? view.SwapAxes(1, 2) : view;
}

void TakeInputs(nb::handle q, nb::handle k, nb::handle v, Call* call) {
  call->inputs.reserve(5);  // with a bias and sinks
  call->args.q = TakeFour("q", q, call);
  call->args.k = TakeFour("k", k, call);
  call->args.v = TakeFour("v", v, call);
}

void TakeSinks(nb::handle sinks, Call* call) {
  if (sinks.is_none()) return;
  call->args.sinks = KeepInput(&call->inputs, "sinks", sinks, Role::kTensor);
}

void TakeOutputs(const Problem& p, EmptyRows empty_rows, nb::handle like, nb::handle out,
                 bool return_lse, Call* call) {
  RunArgs& args = call->args;
  if (!out.is_none()) {
    call->out = TakeOutput("out", out);
    CheckRank("out", call->out.view, call->bthd);
    call->out_object = nb::borrow(out);
    args.out = call->out.view;
  } else if (empty_rows == EmptyRows::kKeep) {
    Bad("out", "None", "an array: with empty_rows=\"keep\" its empty rows stay as they are");
  } else if (call->bthd) {
    call->out_object = NewArray(like, p.out_dtype, {p.batch, p.q_len, p.heads, p.v_dim}, &args.out);
  } else {
    call->out_object = NewArray(like, p.out_dtype, {p.batch, p.heads, p.q_len, p.v_dim}, &args.out);
  }
  if (call->bthd) args.out = args.out.SwapAxes(1, 2);
  if (return_lse) {
    call->lse_object = NewArray(like, DType::kF32, {p.batch, p.heads, p.q_len}, &args.lse);
  }
}

nb::object Results(const Call& call) {
  if (!call.lse_object.is_valid()) return call.out_object;
  return nb::make_tuple(call.out_object, call.lse_object);
}

void CheckRank(const char* name, const ConstTensor& view, bool bthd) {
  if (view.rank == 4) return;
  Bad(std::string(name) + ": rank", std::to_string(view.rank),
      bthd ? "4: [batch, length, heads, dim]" : "4: [batch, heads, length, dim]");
}

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

Plan MakePlanWithoutGil(const Problem& problem, const PyMask* mask, const PyBias* bias,
                        const AttentionOptions& options) {
  std::optional<Result<Plan>> plan;
  {
    const nb::gil_scoped_release release;
    plan.emplace(MakePlan(problem, mask != nullptr ? mask->mask : Mask(),
                          bias != nullptr ? bias->bias : Bias(), options));
  }
  Check(plan->status());
  return **plan;
}

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

}  // namespace skipattn::python
