// Masks: the library's, with the arrays that they borrow.
#ifndef SKIPATTN_PYTHON_MASK_H_
#define SKIPATTN_PYTHON_MASK_H_

#include "array.h"
#include "skipattn/mask.h"

namespace skipattn::python {

struct PyMask {
  Mask mask;
  KeptArrays arrays;
  bool key_bools = false;    // a term of bools that leaves queries alone: it may be upside down
  bool query_terms = false;  // a term that empties rows on purpose
};

/// Where a diagonal lies: align is None, "top_left" or "bottom_right", offset None, an integer or
/// an array, which is called `name` in errors.
mask::Diagonal DiagonalOf(KeptArrays* kept, const char* name, nb::handle align, nb::handle offset);

/// Defines the class Mask, with one static function a term.
void BindMask(nb::module_& module);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_MASK_H_
