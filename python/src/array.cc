// DLPack and the buffer protocol to views; see array.h.
#include "array.h"

#include <nanobind/stl/string.h>

#include <cstdlib>
#include <new>
#include <string>

namespace skipattn::python {
namespace {

enum class Kind { kNumpy, kTorch, kJax, kTensorFlow };

/// Whether a class, or one that it inherits from, is defined in this package.
bool IsOf(PyTypeObject* type, const char* package) {
  const std::string prefix = package;
  PyObject* mro = type->tp_mro;
  for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(mro); ++n) {
    nb::object module = nb::getattr(nb::handle(PyTuple_GET_ITEM(mro, n)), "__module__", nb::none());
    if (!nb::isinstance<nb::str>(module)) continue;
    const std::string name = nb::cast<std::string>(module);
    if (name == prefix || name.rfind(prefix + ".", 0) == 0) return true;
  }
  return false;
}

Kind KindOf(nb::handle object) {
  PyTypeObject* type = Py_TYPE(object.ptr());
  if (IsOf(type, "numpy")) return Kind::kNumpy;
  if (IsOf(type, "torch")) return Kind::kTorch;
  if (IsOf(type, "jax") || IsOf(type, "jaxlib")) return Kind::kJax;
  if (IsOf(type, "tensorflow")) return Kind::kTensorFlow;
  return Kind::kNumpy;
}

std::string DTypeText(nb::dlpack::dtype dtype) {
  using Code = nb::dlpack::dtype_code;
  const std::string bits = std::to_string(dtype.bits);
  switch (static_cast<Code>(dtype.code)) {
    case Code::Int:
      return "int" + bits;
    case Code::UInt:
      return "uint" + bits;
    case Code::Float:
      return "float" + bits;
    case Code::Bfloat:
      return "bfloat" + bits;
    case Code::Complex:
      return "complex" + bits;
    case Code::Bool:
      return "bool";
    default:
      return "unknown";
  }
}

bool FindDType(nb::dlpack::dtype dtype, DType* found) {
  using Code = nb::dlpack::dtype_code;
  if (dtype.lanes != 1) return false;
  const Code code = static_cast<Code>(dtype.code);
  const auto is = [&](Code c, int bits) { return code == c && dtype.bits == bits; };
  if (is(Code::Float, 32)) return *found = DType::kF32, true;
  if (is(Code::Bool, 8)) return *found = DType::kBool, true;
  if (is(Code::Int, 64)) return *found = DType::kI64, true;
  if (is(Code::Int, 32)) return *found = DType::kI32, true;
  if (is(Code::Float, 16)) return *found = DType::kF16, true;
  if (is(Code::Bfloat, 16)) return *found = DType::kBF16, true;
  return false;
}

[[noreturn]] void Fail(PyObject* type, const std::string& message) {
  PyErr_SetString(type, message.c_str());
  throw nb::python_error();
}

template <typename View, typename Array>
void FillView(const char* name, const Array& array, View* view) {
  const std::string who = name;
  if (array.device_type() != nb::device::cpu::value) {
    Fail(PyExc_ValueError, who + " is in memory of DLPack device type " +
                               std::to_string(array.device_type()) + ", expected the CPU's (1)");
  }
  if (!FindDType(array.dtype(), &view->dtype)) {
    Fail(PyExc_ValueError,
         who + ": dtype is " + DTypeText(array.dtype()) +
             ", expected float32 for tensors, bool for masks (write mask != 0), int32 or int64 for "
             "lengths, ids and offsets");
  }
  if (array.ndim() == 0) {
    Fail(PyExc_ValueError, who + " is a scalar (rank 0), expected an array");
  }
  view->rank = static_cast<int>(array.ndim());
  for (int axis = 0; axis < view->rank && axis < ConstTensor::kMaxRank; ++axis) {
    view->shape[axis] = static_cast<int64_t>(array.shape(axis));
    view->stride[axis] = array.stride(axis);
  }
  view->data = const_cast<void*>(static_cast<const void*>(array.data()));
  if (reinterpret_cast<uintptr_t>(view->data) % DTypeSize(view->dtype) != 0) {
    Fail(PyExc_ValueError, who + ": data is not aligned, expected a multiple of " +
                               std::to_string(DTypeSize(view->dtype)) + " bytes");
  }
}

[[noreturn]] void NoArray(const char* name, nb::handle object, const char* expected) {
  Fail(PyExc_TypeError, std::string(name) + " is " + TypeName(object) + ", expected " + expected);
}

/// Memory for `bytes`, and the capsule that frees it.
void* NewMemory(uint64_t bytes, nb::capsule* owner) {
  constexpr uint64_t kAlign = 64;
  if (bytes > (uint64_t{1} << 62)) throw std::bad_alloc();
  const uint64_t size = bytes == 0 ? kAlign : (bytes + kAlign - 1) / kAlign * kAlign;
  void* data = std::aligned_alloc(kAlign, size);
  if (data == nullptr) throw std::bad_alloc();
  try {
    *owner = nb::capsule(data, [](void* p) noexcept { std::free(p); });
  } catch (...) {
    std::free(data);
    throw;
  }
  return data;
}

template <typename T>
nb::object Make(nb::handle like, std::initializer_list<int64_t> shape, T** data) {
  size_t sizes[ConstTensor::kMaxRank];
  size_t rank = 0;
  uint64_t bytes = sizeof(T);
  for (int64_t size : shape) {
    sizes[rank++] = static_cast<size_t>(size);
    if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) throw std::bad_alloc();
  }
  nb::capsule owner;
  *data = static_cast<T*>(NewMemory(bytes, &owner));
  const auto as = [&](auto framework) {
    using Array = nb::ndarray<decltype(framework), T>;
    return Array(*data, rank, sizes, owner).cast();
  };
  switch (KindOf(like)) {
    case Kind::kTorch:
      return as(nb::pytorch());
    case Kind::kJax:
      return as(nb::jax());
    case Kind::kTensorFlow:
      return as(nb::tensorflow());
    default:
      return as(nb::numpy());
  }
}

}  // namespace

std::string TypeName(nb::handle object) {
  if (object.is_none()) return "None";
  return "a " + nb::cast<std::string>(nb::inst_name(object));
}

Input TakeInput(const char* name, nb::handle object) {
  Input input;
  if (object.is_none() || !nb::ndarray_check(object)) {
    NoArray(name, object, "an array (with DLPack or the buffer protocol)");
  }
  // Exporting a tensor to DLPack may detach it without a word.
  if (KindOf(object) == Kind::kTorch &&
      nb::cast<bool>(nb::bool_(nb::getattr(object, "requires_grad", nb::bool_(false))))) {
    Fail(PyExc_ValueError, std::string(name) +
                               " requires grad, expected a tensor without: there is no backward "
                               "here; use skipattn.torch.attention, or pass " +
                               name + ".detach()");
  }
  if (!nb::try_cast(object, input.array)) {
    NoArray(
        name, object,
        "an array whose memory can be shared (dense, strides of whole elements, a plain dtype)");
  }
  FillView(name, input.array, &input.view);
  return input;
}

Output TakeOutput(const char* name, nb::handle object) {
  Output output;
  if (object.is_none() || !nb::ndarray_check(object)) {
    NoArray(name, object, "an array (with DLPack or the buffer protocol)");
  }
  const Kind kind = KindOf(object);
  if (kind == Kind::kJax || kind == Kind::kTensorFlow) {
    NoArray(name, object, "an array that may be written: those of jax and tensorflow may not");
  }
  if (kind == Kind::kTorch &&
      nb::cast<bool>(nb::bool_(nb::getattr(object, "requires_grad", nb::bool_(false))))) {
    Fail(PyExc_ValueError,
         std::string(name) + " requires grad, expected a tensor without, such as out.detach()");
  }
  if (!nb::try_cast(object, output.array)) {
    NoArray(name, object, "an array that may be written (this one is read-only, or not dense)");
  }
  FillView(name, output.array, &output.view);
  return output;
}

nb::object NewArray(nb::handle like, DType, std::initializer_list<int64_t> shape, Tensor* view) {
  float* data = nullptr;
  nb::object array = Make(like, shape, &data);
  *view = Tensor(data, shape);
  return array;
}

nb::object NewFloat64(nb::handle like, std::initializer_list<int64_t> shape, double** data) {
  return Make(like, shape, data);
}

void Check(const Status& status) {
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

}  // namespace skipattn::python
