// DLPack and the buffer protocol to views; see array.h.
#include "array.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>

#include "arguments.h"

namespace skipattn::python {
namespace {

enum class Kind { kNumpy, kTorch, kJax, kTensorFlow };

/// Whether a name of a module is that of the package or of something in it.
bool IsIn(const char* module, const char* package) {
  const size_t size = std::strlen(package);
  return std::strncmp(module, package, size) == 0 && (module[size] == '\0' || module[size] == '.');
}

/// By the package that defines the object's class, or the first known one that it inherits from.
Kind KindOf(nb::handle object) {
  PyObject* mro = Py_TYPE(object.ptr())->tp_mro;
  for (Py_ssize_t n = 0; n < PyTuple_GET_SIZE(mro); ++n) {
    const nb::object module =
        nb::getattr(nb::handle(PyTuple_GET_ITEM(mro, n)), "__module__", nb::handle());
    const char* name = module.is_valid() && PyUnicode_Check(module.ptr())
                           ? PyUnicode_AsUTF8AndSize(module.ptr(), nullptr)
                           : nullptr;
    if (name == nullptr) {
      PyErr_Clear();
      continue;
    }
    if (IsIn(name, "numpy")) return Kind::kNumpy;
    if (IsIn(name, "torch")) return Kind::kTorch;
    if (IsIn(name, "jax") || IsIn(name, "jaxlib")) return Kind::kJax;
    if (IsIn(name, "tensorflow")) return Kind::kTensorFlow;
  }
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

template <typename View, typename Array>
void FillView(const char* name, Role role, const Array& array, View* view) {
  const std::string who = name;
  if (array.device_type() != nb::device::cpu::value) {
    Bad(who, "in the memory of DLPack device type " + std::to_string(array.device_type()),
        "the CPU's, type 1");
  }
  if (!FindDType(array.dtype(), &view->dtype)) {
    Bad(who + ": dtype", DTypeText(array.dtype()),
        role == Role::kTensor ? "float32"
        : role == Role::kInts ? "int32 or int64"
                              : "bool (true means attend): write mask != 0");
  }
  if (array.ndim() == 0) Bad(who, "a scalar (rank 0)", "an array");
  view->rank = static_cast<int>(array.ndim());
  for (int axis = 0; axis < view->rank && axis < ConstTensor::kMaxRank; ++axis) {
    view->shape[axis] = static_cast<int64_t>(array.shape(axis));
    // Without elements strides mean nothing, and numpy's are 0.
    view->stride[axis] = array.size() == 0 ? 1 : array.stride(axis);
  }
  view->data = const_cast<void*>(static_cast<const void*>(array.data()));
  const size_t size = DTypeSize(view->dtype);
  if (reinterpret_cast<uintptr_t>(view->data) % size != 0) {
    Bad(who + ": data", "not aligned", "a multiple of " + std::to_string(size) + " bytes");
  }
}

void CheckKind(const char* name, nb::handle object) {
  if (object.is_none() || !nb::ndarray_check(object)) {
    BadType(name, object, "an array (with DLPack or the buffer protocol)");
  }
}

bool IsTrue(nb::handle truth) { return truth.is_valid() && PyObject_IsTrue(truth.ptr()) == 1; }

/// What of a torch tensor DLPack leaves out without a word: that it has a graph, that it is a
/// negative view (each value means its opposite).
void CheckPlain(const char* name, nb::handle tensor, const char* without_grad) {
  if (IsTrue(nb::getattr(tensor, "requires_grad", nb::handle()))) {
    Bad(name, "a tensor that requires grad", without_grad);
  }
  const nb::object is_neg = nb::getattr(tensor, "is_neg", nb::handle());
  if (is_neg.is_valid() && IsTrue(is_neg())) {
    Bad(name, "a negative view (tensor.is_neg())", "tensor.resolve_neg()");
  }
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

Input TakeInput(const char* name, nb::handle object, Role role) {
  CheckKind(name, object);
  if (KindOf(object) == Kind::kTorch) {
    CheckPlain(name, object,
               "one without: there is no backward here (use skipattn.torch.attention, or pass "
               "tensor.detach())");
  }
  Input input;
  if (!nb::try_cast(object, input.array)) {
    BadType(name, object,
            "an array whose memory can be shared: dense, on a device, of a plain dtype, strides of "
            "whole elements");
  }
  FillView(name, role, input.array, &input.view);
  return input;
}

Output TakeOutput(const char* name, nb::handle object) {
  CheckKind(name, object);
  const Kind kind = KindOf(object);
  if (kind == Kind::kJax || kind == Kind::kTensorFlow) {
    BadType(name, object, "an array that may be written: those of jax and tensorflow may not");
  }
  if (kind == Kind::kTorch) CheckPlain(name, object, "one without");
  Output output;
  if (!nb::try_cast(object, output.array)) {
    BadType(name, object,
            "an array that may be written and whose memory can be shared (this one is read-only, "
            "not dense, or of an odd dtype)");
  }
  FillView(name, Role::kTensor, output.array, &output.view);
  return output;
}

ConstTensor KeepInput(KeptArrays* kept, const char* name, nb::handle object, Role role) {
  Input input = TakeInput(name, object, role);
  kept->push_back(std::move(input.array));
  return input.view;
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

}  // namespace skipattn::python
