// Arrays of Python as views of the library, and new ones of the same kind.
#ifndef SKIPATTN_PYTHON_ARRAY_H_
#define SKIPATTN_PYTHON_ARRAY_H_

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "skipattn/tensor.h"

namespace skipattn::python {

namespace nb = nanobind;

/// An array that is read, or written; `array` keeps its memory alive. Destroyed under the GIL.
struct Input {
  nb::ndarray<nb::ro> array;
  ConstTensor view;
};
struct Output {
  nb::ndarray<> array;
  Tensor view;
};

/// What an array is for: which types it may have.
enum class Role { kTensor, kBools, kInts };

/// Arrays whose memory something borrows.
using KeptArrays = std::vector<nb::ndarray<nb::ro>>;

/// A view of `object`, anything with DLPack or the buffer protocol, without a copy. TypeError where
/// it is none, ValueError where it is of a type that the library has no name for, not on the CPU,
/// not aligned or a tensor that requires grad; the message starts with `name`.
Input TakeInput(const char* name, nb::handle object, Role role);
Output TakeOutput(const char* name, nb::handle object);

/// TakeInput of what must live longer: the array is added to `kept`.
ConstTensor KeepInput(KeptArrays* kept, const char* name, nb::handle object, Role role);

/// A new array in C order, 64-byte aligned, not initialised, of the same framework as `like` (numpy
/// where that is unknown), and a view of it.
nb::object NewArray(nb::handle like, DType dtype, std::initializer_list<int64_t> shape,
                    Tensor* view);
nb::object NewFloat64(nb::handle like, std::initializer_list<int64_t> shape, double** data);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_ARRAY_H_
