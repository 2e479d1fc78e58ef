// Arguments by name: plain values of Python, and the library's statuses as exceptions.
#ifndef SKIPATTN_PYTHON_ARGUMENTS_H_
#define SKIPATTN_PYTHON_ARGUMENTS_H_

#include <nanobind/nanobind.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>

#include "skipattn/status.h"

namespace skipattn::python {

namespace nb = nanobind;

/// Raises an exception of Python.
[[noreturn]] void Fail(PyObject* type, const std::string& message);

/// ValueError "`what` is `is`, expected `expected`".
[[noreturn]] void Bad(const std::string& what, const std::string& is, const std::string& expected);

/// TypeError that tells of what type `object` is.
[[noreturn]] void BadType(const char* name, nb::handle object, const char* expected);

/// ValueError, MemoryError or RuntimeError where `status` is not ok; or the exception of Python
/// that is set, of a mask's function.
void Check(const Status& status);

/// Values of arguments; BadType where they are of another kind.
double Number(const char* name, nb::handle object);
int64_t Integer(const char* name, nb::handle object);
std::string Text(const char* name, nb::handle object);

/// Whether `object` is an integer, of Python or of numpy; arrays are not.
bool IsInteger(nb::handle object);

/// What `object` means as a condition; BadType where it does not tell (an array).
bool Truth(const char* name, nb::handle object);

/// A choice by name.
template <typename Enum>
Enum Choose(const char* what, nb::handle object,
            std::initializer_list<std::pair<const char*, Enum>> choices, const char* names) {
  const std::string name = Text(what, object);
  for (const auto& [known, value] : choices) {
    if (name == known) return value;
  }
  Bad(what, "\"" + name + "\"", names);
}

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_ARGUMENTS_H_
