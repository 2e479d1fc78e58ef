// One function a term; see mask.h.
#include "mask.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>
#include <utility>

namespace skipattn::python {
namespace {

using mask::Align;
using mask::Diagonal;

/// Keeps the array of an input and gives its view.
ConstTensor Take(PyMask* into, const char* name, nb::handle object) {
  Input input = TakeInput(name, object);
  into->arrays.push_back(std::move(input.array));
  return input.view;
}

Diagonal DiagonalOf(PyMask* into, const char* name, const std::optional<std::string>& align,
                    nb::handle offset) {
  Diagonal diagonal;
  if (align.has_value()) {
    if (*align != "top_left" && *align != "bottom_right") {
      throw nb::value_error((std::string(name) + ": align is \"" + *align +
                             "\", expected \"top_left\" or \"bottom_right\"")
                                .c_str());
    }
    diagonal.align = *align == "top_left" ? Align::kTopLeft : Align::kBottomRight;
  }
  if (offset.is_none()) return diagonal;
  if (int64_t number; nb::try_cast(offset, number)) {
    diagonal.offset = number;
  } else {
    diagonal.offsets = Take(into, (std::string(name) + ": offset").c_str(), offset);
  }
  return diagonal;
}

template <Mask (*term)(const ConstTensor&)>
PyMask OneArray(const char* name, nb::handle array, bool key_bools, bool query_terms) {
  PyMask made;
  made.mask = term(Take(&made, name, array));
  made.key_bools = key_bools;
  made.query_terms = query_terms;
  return made;
}

template <Mask (*term)(const ConstTensor&, const ConstTensor&)>
PyMask TwoArrays(const char* first_name, nb::handle first, const char* second_name,
                 nb::handle second, bool query_terms) {
  PyMask made;
  const ConstTensor a = Take(&made, first_name, first);
  const ConstTensor b = Take(&made, second_name, second);
  made.mask = term(a, b);
  made.query_terms = query_terms;
  return made;
}

PyMask Causal(const std::optional<std::string>& align, nb::handle offset) {
  PyMask made;
  made.mask = mask::Causal(DiagonalOf(&made, "causal", align, offset));
  return made;
}

PyMask Window(int64_t left, int64_t right, const std::optional<std::string>& align,
              nb::handle offset) {
  PyMask made;
  made.mask = mask::Window(left, right, DiagonalOf(&made, "window", align, offset));
  return made;
}

PyMask Dense(nb::handle values, const std::string& axes) {
  PyMask made;
  made.mask = mask::Dense(Take(&made, "dense mask", values), axes);
  made.key_bools = true;
  return made;
}

PyMask And(const PyMask& a, const PyMask& b) {
  PyMask made = a;
  made.mask &= b.mask;
  made.arrays.insert(made.arrays.end(), b.arrays.begin(), b.arrays.end());
  made.key_bools |= b.key_bools;
  made.query_terms |= b.query_terms;
  return made;
}

}  // namespace

void BindMask(nb::module_& module) {
  nb::class_<PyMask>(module, "Mask", "A mask as the library takes it; see skipattn.mask.Mask.");
  nb::module_ terms = module.def_submodule("terms", "One function a mask term.");
  terms.def("and_", &And);
  terms.def("key_lengths", [](nb::handle a) {
    return OneArray<mask::KeyLengths>("key_lengths", a, false, false);
  });
  terms.def("query_lengths", [](nb::handle a) {
    return OneArray<mask::QueryLengths>("query_lengths", a, false, true);
  });
  terms.def("key_range", [](nb::handle begin, nb::handle end) {
    return TwoArrays<mask::KeyRange>("key_range: begin", begin, "key_range: end", end, false);
  });
  terms.def("query_range", [](nb::handle begin, nb::handle end) {
    return TwoArrays<mask::QueryRange>("query_range: begin", begin, "query_range: end", end, true);
  });
  terms.def("key_valid",
            [](nb::handle a) { return OneArray<mask::KeyValid>("key_valid", a, true, false); });
  terms.def("query_valid",
            [](nb::handle a) { return OneArray<mask::QueryValid>("query_valid", a, false, true); });
  terms.def("padding",
            [](nb::handle a) { return OneArray<mask::Padding>("padding", a, false, true); });
  terms.def("causal", &Causal, nb::arg("align").none(), nb::arg("offset").none());
  terms.def("window", &Window, nb::arg("left"), nb::arg("right"), nb::arg("align").none(),
            nb::arg("offset").none());
  terms.def("documents", [](nb::handle q, nb::handle k) {
    return TwoArrays<mask::Documents>("documents: q_ids", q, "documents: k_ids", k, true);
  });
  terms.def("document_boundaries", [](nb::handle q, nb::handle k) {
    return TwoArrays<mask::DocumentsFromBoundaries>("documents: cu_seqlens_q", q,
                                                    "documents: cu_seqlens_k", k, true);
  });
  terms.def("dense", &Dense);
}

}  // namespace skipattn::python
