// Values of Python by name; see arguments.h.
#include "arguments.h"

namespace skipattn::python {

void Fail(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

void Bad(const std::string& what, const std::string& is, const std::string& expected) {
  Fail(PyExc_ValueError, what + " is " + is + ", expected " + expected);
}

void BadType(const char* name, nb::handle object, const char* expected) {
  const std::string is =
      object.is_none() ? "None" : std::string("of type ") + Py_TYPE(object.ptr())->tp_name;
  Fail(PyExc_TypeError, std::string(name) + " is " + is + ", expected " + expected);
}

void Check(const Status& status) {
  if (!status.ok() && PyErr_Occurred() != nullptr) throw nb::python_error();  // a mask function's
  switch (status.code()) {
    case StatusCode::kOk:
      return;
    case StatusCode::kInvalidArgument:
      Fail(PyExc_ValueError, status.message());
    case StatusCode::kOutOfMemory:
      Fail(PyExc_MemoryError, status.message());
    default:
      Fail(PyExc_RuntimeError, status.message());
  }
}

double Number(const char* name, nb::handle object) {
  const double value = PyFloat_AsDouble(object.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    BadType(name, object, "a number");
  }
  return value;
}

bool IsInteger(nb::handle object) {
  // Arrays of one element can be integers too; they have a length, or an exception in its place.
  return PyLong_Check(object.ptr()) ||
         (PyIndex_Check(object.ptr()) && !nb::hasattr(object, "__dlpack__"));
}

int64_t Integer(const char* name, nb::handle object) {
  if (!IsInteger(object)) BadType(name, object, "an integer");
  const nb::object index = nb::steal(PyNumber_Index(object.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    BadType(name, object, "an integer");
  }
  const long long value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    Bad(name, "beyond 64 bits", "a smaller number");
  }
  return value;
}

std::string Text(const char* name, nb::handle object) {
  Py_ssize_t size = 0;
  const char* text =
      PyUnicode_Check(object.ptr()) ? PyUnicode_AsUTF8AndSize(object.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    BadType(name, object, "a string");
  }
  return std::string(text, static_cast<size_t>(size));
}

bool Truth(const char* name, nb::handle object) {
  const int truth = PyObject_IsTrue(object.ptr());
  if (truth < 0) {
    PyErr_Clear();
    BadType(name, object, "True or False");
  }
  return truth == 1;
}

}  // namespace skipattn::python
