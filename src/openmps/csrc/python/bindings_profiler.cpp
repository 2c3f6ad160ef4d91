// What Python asks of the profiler: recordings, traces, and the launches of Metal kernels.
#include "python/bindings.h"

#include <torch/csrc/autograd/python_variable.h>

#include <string>

#include "engine/engine.h"
#include "profiler/profiler.h"

namespace openmps {
namespace {

// Record of device/core_interface.py.
py::tuple record_tuple(const profiler::Record& record) {
  static constexpr const char* kKinds[] = {"operation", "kernel", "copy", "fallback"};
  const bool is_kernel = record.kind == profiler::Kind::kKernel;
  return py::make_tuple(kKinds[static_cast<size_t>(record.kind)], text(record.name),
                        text(is_kernel ? record.key : profiler::message(record)),
                        text(record.detail), record.id, record.run, record.thread, record.start_ns,
                        record.duration_ns, record.bytes);
}

int open_recording() { return profiler::open_recording(profiler::kAllKinds); }

py::tuple close_recording(int handle) {
  const auto recording = profiler::close_recording(handle);
  return py::make_tuple(list_of(recording.records, record_tuple), recording.dropped);
}

py::object take_trace() {
  const auto trace = profiler::take_trace();
  if (!trace) return py::none();
  return py::make_tuple(trace->events, trace->intervals,
                        list_of(trace->recording.records, record_tuple), trace->recording.dropped);
}

// Around a launch, whose times are then the device's.
void wait_to_time_kernel() {
  try {
    const py::gil_scoped_release others_may_run;
    profiler::wait_to_time_kernel();
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
}

// The tensors among the arguments count.
void record_kernel(const std::string& name, const py::tuple& arguments, const std::string& detail,
                   int64_t start_ns, int64_t end_ns) {
  profiler::Tensors tensors;
  for (const py::handle argument : arguments) {
    if (THPVariable_Check(argument.ptr())) tensors.push_back(&THPVariable_Unpack(argument.ptr()));
  }
  profiler::add_kernel(name, tensors, detail, start_ns, end_ns);
}

}  // namespace

void bind_profiler(py::module_& module) {
  define(module, "open_recording", open_recording);
  define(module, "close_recording", close_recording);
  define(module, "take_trace", take_trace);
  define(module, "records_kernels", [] { return profiler::asked_for(profiler::Kind::kKernel); });
  define(module, "wait_to_time_kernel", wait_to_time_kernel);
  define(module, "record_kernel", record_kernel);
}

}  // namespace openmps
