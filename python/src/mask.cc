// One function a term; see mask.h.
#include "mask.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "arguments.h"

namespace skipattn::python {
namespace {

using mask::Align;
using mask::Diagonal;

template <Mask (*term)(const ConstTensor&)>
PyMask OneArray(const char* name, nb::handle array, Role role) {
  PyMask made;
  made.mask = term(KeepInput(&made.arrays, name, array, role));
  return made;
}

template <Mask (*term)(const ConstTensor&, const ConstTensor&)>
PyMask TwoArrays(const char* first_name, nb::handle first, const char* second_name,
                 nb::handle second) {
  PyMask made;
  const ConstTensor a = KeepInput(&made.arrays, first_name, first, Role::kInts);
  const ConstTensor b = KeepInput(&made.arrays, second_name, second, Role::kInts);
  made.mask = term(a, b);
  return made;
}

PyMask KeyValid(nb::handle valid) {
  PyMask made = OneArray<mask::KeyValid>("key_valid", valid, Role::kBools);
  made.key_bools = true;
  return made;
}

PyMask OnQueries(PyMask made) {
  made.query_terms = true;
  return made;
}

PyMask Causal(nb::handle align, nb::handle offset) {
  PyMask made;
  made.mask = mask::Causal(DiagonalOf(&made.arrays, "causal: offset", align, offset));
  return made;
}

PyMask Window(int64_t left, int64_t right, nb::handle align, nb::handle offset) {
  PyMask made;
  made.mask = mask::Window(left, right, DiagonalOf(&made.arrays, "window: offset", align, offset));
  return made;
}

PyMask Dense(nb::handle values, nb::handle axes) {
  PyMask made;
  made.mask =
      mask::Dense(KeepInput(&made.arrays, "dense mask", values, Role::kBools), Text("axes", axes));
  made.key_bools = true;
  return made;
}

PyMask PrefixCausal(nb::handle prefix, nb::handle align, nb::handle offset) {
  PyMask made;
  const ConstTensor view = KeepInput(&made.arrays, "prefix_causal", prefix, Role::kInts);
  made.mask =
      mask::PrefixCausal(view, DiagonalOf(&made.arrays, "prefix_causal: offset", align, offset));
  return made;
}

PyMask Blocks(nb::handle values, nb::handle axes, int64_t block_q, int64_t block_k) {
  PyMask made;
  const ConstTensor view = KeepInput(&made.arrays, "blocks", values, Role::kBools);
  made.mask = mask::Blocks(view, Text("axes", axes), block_q, block_k);
  made.key_bools = true;
  return made;
}

/// What `f` says. Called without the GIL. An exception stays set for the thread, and Check raises
/// it when the planning that it ends has returned.
bool Call(PyObject* f, int64_t b, int64_t h, int64_t i, int64_t j) {
  const nb::gil_scoped_acquire gil;
  const nb::object answer = nb::steal(
      PyObject_CallFunction(f, "LLLL", static_cast<long long>(b), static_cast<long long>(h),
                            static_cast<long long>(i), static_cast<long long>(j)));
  int truth = -1;
  if (answer.is_none()) {
    PyErr_SetString(PyExc_TypeError, "function: it gave None, expected True or False");
  } else if (answer.is_valid()) {
    truth = PyObject_IsTrue(answer.ptr());
  }
  if (truth < 0) throw std::runtime_error("an exception of Python");
  return truth == 1;
}

PyMask Function(nb::object f) {
  // The last copy may be dropped with or without the GIL.
  const std::shared_ptr<PyObject> shared(f.release().ptr(), [](PyObject* held) {
    const nb::gil_scoped_acquire gil;
    Py_DECREF(held);
  });
  PyMask made;
  made.mask = mask::Function([shared](int64_t b, int64_t h, int64_t i, int64_t j) {
    return Call(shared.get(), b, h, i, j);
  });
  return made;
}

PyMask Joined(const Mask& mask, const PyMask& a, const PyMask& b) {
  PyMask made = a;
  made.mask = mask;
  made.arrays.insert(made.arrays.end(), b.arrays.begin(), b.arrays.end());
  made.key_bools |= b.key_bools;
  made.query_terms |= b.query_terms;
  return made;
}

PyMask And(const PyMask& a, const PyMask& b) { return Joined(a.mask & b.mask, a, b); }
PyMask Or(const PyMask& a, const PyMask& b) { return Joined(a.mask | b.mask, a, b); }

PyMask Not(const PyMask& a) {
  PyMask made = a;
  made.mask = ~a.mask;
  return made;
}

}  // namespace

Diagonal DiagonalOf(KeptArrays* kept, const char* name, nb::handle align, nb::handle offset) {
  Diagonal diagonal;
  if (!align.is_none()) {
    diagonal.align = Text("align", align) == "top_left" ? Align::kTopLeft : Align::kBottomRight;
  }
  if (IsInteger(offset)) {
    diagonal.offset = Integer(name, offset);
  } else if (!offset.is_none()) {
    diagonal.offsets = KeepInput(kept, name, offset, Role::kInts);
  }
  return diagonal;
}

void BindMask(nb::module_& module) {
  nb::class_<PyMask> terms(module, "Mask",
                           "A mask as the library takes it; see skipattn.mask.Mask.");
  terms.def_static("and_", &And);
  terms.def_static("or_", &Or);
  terms.def_static("not_", &Not);
  terms.def_static("key_lengths", [](nb::handle lengths) {
    return OneArray<mask::KeyLengths>("key_lengths", lengths, Role::kInts);
  });
  terms.def_static("key_range", [](nb::handle begin, nb::handle end) {
    return TwoArrays<mask::KeyRange>("key_range: begin", begin, "key_range: end", end);
  });
  terms.def_static("key_valid", &KeyValid);
  terms.def_static("query_lengths", [](nb::handle lengths) {
    return OnQueries(OneArray<mask::QueryLengths>("query_lengths", lengths, Role::kInts));
  });
  terms.def_static("query_range", [](nb::handle begin, nb::handle end) {
    return OnQueries(
        TwoArrays<mask::QueryRange>("query_range: begin", begin, "query_range: end", end));
  });
  terms.def_static("query_valid", [](nb::handle valid) {
    return OnQueries(OneArray<mask::QueryValid>("query_valid", valid, Role::kBools));
  });
  terms.def_static("padding", [](nb::handle valid) {
    return OnQueries(OneArray<mask::Padding>("padding", valid, Role::kBools));
  });
  terms.def_static("causal", &Causal, nb::arg().none(), nb::arg().none());
  terms.def_static("window", &Window, nb::arg(), nb::arg(), nb::arg().none(), nb::arg().none());
  terms.def_static("prefix_causal", &PrefixCausal, nb::arg(), nb::arg().none(), nb::arg().none());
  terms.def_static("documents", [](nb::handle q, nb::handle k) {
    return OnQueries(TwoArrays<mask::Documents>("documents: q_ids", q, "documents: k_ids", k));
  });
  terms.def_static("document_boundaries", [](nb::handle q, nb::handle k) {
    return OnQueries(TwoArrays<mask::DocumentsFromBoundaries>("documents: cu_seqlens_q", q,
                                                              "documents: cu_seqlens_k", k));
  });
  terms.def_static("dense", &Dense);
  terms.def_static("blocks", &Blocks);
  terms.def_static("function", &Function);
}

}  // namespace skipattn::python
