// The Python module, in parts: only this folder knows Python.
#pragma once

#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>

#include <string>
#include <utility>

namespace openmps {

void bind_profiler(py::module_& module);
void bind_ledger(py::module_& module);

// What the function throws reaches Python as it does from torch's own functions.
template <class Function>
void define(py::module_& module, const char* name, Function&& function) {
  module.def(name, torch::wrap_pybind_function(std::forward<Function>(function)));
}

// Names come from programs: what is no UTF-8 must not stop a trace.
py::str text(const std::string& value);

// A list of what `make` makes of each.
template <class Items, class Make>
py::list list_of(const Items& items, const Make& make) {
  py::list list;
  for (const auto& item : items) list.append(make(item));
  return list;
}

}  // namespace openmps
