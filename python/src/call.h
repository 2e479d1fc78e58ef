// The arrays of one call: taken from Python, made where they are missing, given back.
#ifndef SKIPATTN_PYTHON_CALL_H_
#define SKIPATTN_PYTHON_CALL_H_

#include <nanobind/nanobind.h>

#include "array.h"
#include "bias.h"
#include "mask.h"
#include "skipattn/attention.h"

namespace skipattn::python {

/// A call's arrays, and how the library addresses them: whatever the layout, {batch, head,
/// position, dim}.
struct Call {
  explicit Call(bool is_bthd) : bthd(is_bthd) {}

  const bool bthd;
  RunArgs args;
  KeptArrays inputs;
  Output out;
  nb::object out_object, lse_object;
};

/// An array of rank 4 in the call's layout, as {batch, head, position, dim}.
ConstTensor TakeFour(const char* name, nb::handle object, Call* call);

void TakeInputs(nb::handle q, nb::handle k, nb::handle v, Call* call);
void TakeSinks(nb::handle sinks, Call* call);

/// Takes `out`, or makes it, and the lse if it is asked for; arrays like `like`.
void TakeOutputs(const Problem& problem, EmptyRows empty_rows, nb::handle like, nb::handle out,
                 bool return_lse, Call* call);

/// out, or (out, lse).
nb::object Results(const Call& call);

/// Raises where the shapes of q, k and v disagree, for they name the problem. `suffix` joins their
/// names.
void CheckShapes(const RunArgs& args, const char* suffix);
void CheckRank(const char* name, const ConstTensor& view, bool bthd);

/// The problem of arrays that CheckShapes has passed, before there is an output.
Problem ProblemFrom(const RunArgs& args);

/// Makes a plan without the GIL. mask and bias: null = none.
Plan MakePlanWithoutGil(const Problem& problem, const PyMask* mask, const PyBias* bias,
                        const AttentionOptions& options);

/// A mask of bools whose true means "ignore" often leaves most rows without a key. The warning
/// names the caller `level` Python functions up, 1 being the one that runs; 0 = no warning.
void WarnIfUpsideDown(const Plan& plan, const PyMask* mask, int level);

void RunWithoutGil(const Plan& plan, const RunArgs& args);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_CALL_H_
