// Everything about a call that is neither an array of it nor its mask.
#ifndef SKIPATTN_PYTHON_SETTINGS_H_
#define SKIPATTN_PYTHON_SETTINGS_H_

#include <nanobind/nanobind.h>

#include "skipattn/options.h"

namespace skipattn::python {

namespace nb = nanobind;

struct Settings {
  AttentionOptions options;
  bool bthd = false;  // the layout: [batch, length, heads, dim]
};

/// From the tuple that the package gives: scale, empty_rows, precision, backend, threads,
/// key_origin, config, layout, softcap.
Settings SettingsOf(const nb::tuple& given);

/// Single ones: whether the layout is "bthd"; a number of threads, 0 for None.
bool LayoutOf(nb::handle layout);
int ThreadsOf(nb::handle threads);

}  // namespace skipattn::python

#endif  // SKIPATTN_PYTHON_SETTINGS_H_
