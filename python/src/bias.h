// Biases: the library's, with the arrays that they borrow.
#ifndef SKIPATTN_PYTHON_BIAS_H_
#define SKIPATTN_PYTHON_BIAS_H_

#include "array.h"
#include "skipattn/bias.h"

namespace skipattn::python {

struct PyBias {
  Bias bias;
  KeptArrays arrays;
  ConstTensor values;  // of a dense bias, with all four axes: what a run must bring
};

/// Defines the class Bias, with one static function a kind.
void BindBias(nb::module_& module);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_BIAS_H_
