// What Python asks of the profiler: recordings, traces, and the launches of Metal kernels.
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/autograd/python_variable.h>

#include "python/bindings.h"
#include "engine/engine.h"
#include "profiler/profiler.h"

namespace openmps {
namespace {

// (kind, name, message, detail, id, run, thread, start_ns, duration_ns, bytes)
PyObject* record_tuple(const profiler::Record& record) {
  static constexpr const char* kKinds[] = {"operation", "kernel", "copy", "fallback"};
  return Py_BuildValue(
      "sNNNKKKLLK", kKinds[static_cast<size_t>(record.kind)], text(record.name),
      text(record.kind == profiler::Kind::kKernel ? record.key : profiler::message(record)),
      text(record.detail), record.id, record.run, record.thread, record.start_ns,
      record.duration_ns, record.bytes);
}

PyObject* record_list(const profiler::Recording& recording) {
  return list_of(recording.records, record_tuple);
}

// Keeps what runs from now on: a handle for close_recording, which returns the records and how many
// more there were.
PyObject* open_recording(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  return PyLong_FromLong(profiler::open_recording(profiler::kAllKinds));
  END_HANDLE_TH_ERRORS
}

PyObject* close_recording(PyObject*, PyObject* handle) {
  HANDLE_TH_ERRORS
  const long number = PyLong_AsLong(handle);
  if (number == -1 && PyErr_Occurred()) return nullptr;
  const auto recording = profiler::close_recording(static_cast<int>(number));
  return Py_BuildValue("Nn", record_list(recording), static_cast<Py_ssize_t>(recording.dropped));
  END_HANDLE_TH_ERRORS
}

// (with events, with intervals, records, dropped) of the trace stopped last, or of the one that is
// still running; once, then None.
PyObject* take_trace(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  const auto trace = profiler::take_trace();
  if (!trace) Py_RETURN_NONE;
  return Py_BuildValue("NNNn", PyBool_FromLong(trace->events), PyBool_FromLong(trace->intervals),
                       record_list(trace->recording),
                       static_cast<Py_ssize_t>(trace->recording.dropped));
  END_HANDLE_TH_ERRORS
}

// Whether launches of Metal kernels are to be given to record_kernel.
PyObject* records_kernels(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  return PyBool_FromLong(profiler::asked_for(profiler::Kind::kKernel));
  END_HANDLE_TH_ERRORS
}

// Around a launch, whose times are then the device's.
PyObject* wait_to_time_kernel(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  try {
    const pybind11::gil_scoped_release others_may_run;
    profiler::wait_to_time_kernel();
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// record_kernel(name, arguments, detail, start_ns, end_ns): the tensors among the arguments count.
PyObject* record_kernel(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* name = nullptr;
  PyObject* arguments = nullptr;
  const char* detail = nullptr;
  long long start = 0;
  long long end = 0;
  if (!PyArg_ParseTuple(args, "sO!sLL", &name, &PyTuple_Type, &arguments, &detail, &start, &end)) {
    return nullptr;
  }
  profiler::Tensors tensors;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arguments); ++i) {
    PyObject* argument = PyTuple_GET_ITEM(arguments, i);
    if (THPVariable_Check(argument)) tensors.push_back(&THPVariable_Unpack(argument));
  }
  profiler::add_kernel(name, tensors, detail, start, end);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

}  // namespace

PyMethodDef g_profiler_methods[] = {
    {"open_recording", open_recording, METH_NOARGS, nullptr},
    {"close_recording", close_recording, METH_O, nullptr},
    {"take_trace", take_trace, METH_NOARGS, nullptr},
    {"records_kernels", records_kernels, METH_NOARGS, nullptr},
    {"wait_to_time_kernel", wait_to_time_kernel, METH_NOARGS, nullptr},
    {"record_kernel", record_kernel, METH_VARARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace openmps
