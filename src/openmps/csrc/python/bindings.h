// The Python module, in parts: only bindings*.cpp know Python.
#pragma once

#include <Python.h>

#include <string>
#include <vector>

namespace openmps {

// What each part offers to Python; ends with a null entry.
extern PyMethodDef g_profiler_methods[];
extern PyMethodDef g_ledger_methods[];

std::vector<std::string> strings(PyObject* list);

// Names come from programs: what is no UTF-8 must not stop a trace.
PyObject* text(const std::string& value);

// A list of what `make` makes of each; nullptr with Python's error set.
template <class Items, class Make>
PyObject* list_of(const Items& items, const Make& make) {
  PyObject* list = PyList_New(0);
  for (const auto& item : items) {
    PyObject* made = list == nullptr ? nullptr : make(item);
    const bool added = made != nullptr && PyList_Append(list, made) == 0;
    Py_XDECREF(made);
    if (!added) {
      Py_XDECREF(list);
      return nullptr;
    }
  }
  return list;
}

}  // namespace openmps
