// Settings by name; see settings.h.
#include "settings.h"

#include <cstdint>
#include <string>
#include <vector>

#include "arguments.h"
#include "array.h"

namespace skipattn::python {
namespace {

std::vector<int64_t> OriginsOf(nb::handle object) {
  if (object.is_none()) return {};
  if (IsInteger(object)) return {Integer("key_origin", object)};
  const Input input = TakeInput("key_origin", object, Role::kInts);
  const ConstTensor& view = input.view;
  if (view.rank != 1) Bad("key_origin: rank", std::to_string(view.rank), "1: [batch]");
  if (view.dtype != DType::kI32 && view.dtype != DType::kI64) {
    Bad("key_origin: dtype", DTypeName(view.dtype), "int32 or int64");
  }
  std::vector<int64_t> origins;
  for (int64_t b = 0; b < view.shape[0]; ++b) {
    const int64_t at = b * view.stride[0];
    origins.push_back(view.dtype == DType::kI32 ? static_cast<const int32_t*>(view.data)[at]
                                                : static_cast<const int64_t*>(view.data)[at]);
  }
  return origins;
}

}  // namespace

int ThreadsOf(nb::handle object) {
  if (object.is_none()) return 0;
  const int64_t threads = Integer("threads", object);
  // What does not fit is as wrong as a negative number.
  return threads == static_cast<int>(threads) ? static_cast<int>(threads) : -1;
}

bool LayoutOf(nb::handle layout) {
  return Choose<bool>("layout", layout, {{"bhtd", false}, {"bthd", true}},
                      "\"bhtd\" ([batch, heads, length, dim]) or \"bthd\" ([batch, length, heads, "
                      "dim])");
}

Settings SettingsOf(const nb::tuple& given) {
  if (given.size() != 9) Fail(PyExc_TypeError, "settings are a tuple of nine");
  Settings settings;
  AttentionOptions& options = settings.options;
  if (!given[0].is_none()) options.scale = Number("scale", given[0]);
  options.empty_rows = Choose<EmptyRows>("empty_rows", given[1],
                                         {{"zero", EmptyRows::kZero},
                                          {"keep", EmptyRows::kKeep},
                                          {"uniform", EmptyRows::kUniform},
                                          {"nan", EmptyRows::kNan}},
                                         "\"zero\", \"uniform\", \"nan\" or \"keep\"");
  options.precision = Choose<Precision>("precision", given[2], {{"exact", Precision::kExact}},
                                        "\"exact\" (\"fast\" is not supported by this version)");
  options.backend = Choose<Backend>("backend", given[3],
                                    {{"auto", Backend::kAuto}, {"reference", Backend::kReference}},
                                    "\"auto\" or \"reference\"");
  options.threads = ThreadsOf(given[4]);
  options.key_origin = OriginsOf(given[5]);
  if (!given[6].is_none()) options.config = Text("config", given[6]);
  settings.bthd = LayoutOf(given[7]);
  if (!given[8].is_none()) options.softcap = Number("softcap", given[8]);
  return settings;
}

}  // namespace skipattn::python
