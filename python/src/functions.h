// The functions that need no plan kept: attention, reference64, merge.
#ifndef SKIPATTN_PYTHON_FUNCTIONS_H_
#define SKIPATTN_PYTHON_FUNCTIONS_H_

#include <nanobind/nanobind.h>

namespace skipattn::python {

void BindFunctions(nanobind::module_& module);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_FUNCTIONS_H_
