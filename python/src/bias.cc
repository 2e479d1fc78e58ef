// One function a kind; see bias.h.
#include "bias.h"

#include <string>

#include "arguments.h"
#include "mask.h"

namespace skipattn::python {
namespace {

PyBias Dense(nb::handle values, nb::handle axes) {
  PyBias made;
  const ConstTensor view = KeepInput(&made.arrays, "bias", values, Role::kTensor);
  const std::string names = Text("axes", axes);
  made.bias = bias::Dense(view, names);
  made.values = bias::FourAxes(view, names);
  return made;
}

PyBias Alibi(nb::handle slopes, nb::handle align, nb::handle offset) {
  PyBias made;
  const ConstTensor view = KeepInput(&made.arrays, "alibi: slopes", slopes, Role::kTensor);
  made.bias = bias::Alibi(view, DiagonalOf(&made.arrays, "alibi: offset", align, offset));
  return made;
}

PyBias Relative(nb::handle table, nb::handle align, nb::handle offset) {
  PyBias made;
  const ConstTensor view = KeepInput(&made.arrays, "relative: table", table, Role::kTensor);
  made.bias = bias::Relative(view, DiagonalOf(&made.arrays, "relative: offset", align, offset));
  return made;
}

}  // namespace

void BindBias(nb::module_& module) {
  nb::class_<PyBias> kinds(module, "Bias",
                           "A bias as the library takes it; see skipattn.bias.Bias.");
  kinds.def_static("dense", &Dense);
  kinds.def_static("alibi", &Alibi, nb::arg(), nb::arg().none(), nb::arg().none());
  kinds.def_static("relative", &Relative, nb::arg(), nb::arg().none(), nb::arg().none());
}

}  // namespace skipattn::python
