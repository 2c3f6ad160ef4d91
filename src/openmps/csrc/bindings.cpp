// The Python module: the only file that includes Python's headers.
#include <Python.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/Storage.h>
#include <torch/csrc/autograd/python_variable.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "accountant.h"
#include "attention.h"
#include "autocast.h"
#include "backing.h"
#include "boxed.h"
#include "gpu_errors.h"
#include "gpu_operators.h"
#include "header.h"
#include "held.h"
#include "hooks.h"
#include "layers.h"
#include "ledger.h"
#include "mac.h"
#include "metal.h"
#include "one_accelerator.h"
#include "operators.h"
#include "own_kernels.h"
#include "profiler.h"
#include "random.h"
#include "reports.h"
#include "rules.h"
#include "twin.h"

namespace openmps {
namespace {

PyObject* g_kernel_finder = nullptr;

// Asks Python for a kernel of device/*.metal: once for each, so the GIL may be taken here.
void* find_kernel_code(const char* name) {
  const auto gil = PyGILState_Ensure();
  auto* found = PyObject_CallFunction(g_kernel_finder, "s", name);
  void* entry = found == nullptr || found == Py_None ? nullptr : PyLong_AsVoidPtr(found);
  Py_XDECREF(found);
  if (PyErr_Occurred() != nullptr) {
    python_error error;
    error.persist();  // needs the GIL, and the destructor takes it by itself
    PyGILState_Release(gil);
    throw error;
  }
  PyGILState_Release(gil);
  return entry;
}

std::vector<std::string> strings(PyObject* list) {
  TORCH_CHECK_TYPE(PyList_Check(list), "openmps_core: expected a list of names");
  std::vector<std::string> result;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); ++i) {
    const char* text = PyUnicode_AsUTF8(PyList_GET_ITEM(list, i));
    if (text == nullptr) throw python_error();
    result.emplace_back(text);
  }
  return result;
}

// activate(engine, recommended_max_bytes, max_buffer_bytes, macos_major, macos_minor, strict,
//          dense_operators, sparse_operators, operators_always_on_cpu)
PyObject* activate(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* engine = nullptr;
  unsigned long long recommended = 0;
  unsigned long long max_buffer = 0;
  unsigned major = 0;
  unsigned minor = 0;
  int strict = 1;
  PyObject *dense = nullptr, *sparse = nullptr, *on_cpu = nullptr;
  if (!PyArg_ParseTuple(args, "sKKIIpOOO", &engine, &recommended, &max_buffer, &major, &minor,
                        &strict, &dense, &sparse, &on_cpu)) {
    return nullptr;
  }
  g_mac = {static_cast<size_t>(recommended), static_cast<size_t>(max_buffer), major, minor};
  g_strict = strict != 0;
  choose_backing(c10::Device(engine).type());
  if (backing().is_cpu()) install_accountant();
  hide_other_accelerators();
  install_hooks();
  register_vmapped_attention();
  g_find_kernel_code = find_kernel_code;
  const NativeOperators native = {strings(dense), strings(sparse), strings(on_cpu)};
  const bool draws_poisson =
      std::find(native.dense.begin(), native.dense.end(), "aten::poisson") != native.dense.end();
  register_random_operators(draws_poisson);
  if (backing().is_cpu()) {
    register_composed_linear();
  } else {
    register_gpu_operators();
  }
  prepare_typed_kernels();
  register_boxed_kernels(native);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// provide_kernels(find): before activate. `find` gives the code of a kernel of device/*.metal by
// its name, or None if there is none.
PyObject* provide_kernels(PyObject*, PyObject* find) {
  g_kernel_finder = Py_NewRef(find);
  Py_RETURN_NONE;
}

// refuse(operator, dtype_mask, of, error, text): before activate.
PyObject* refuse(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* op = nullptr;
  unsigned long long dtypes = 0;
  const char *of = nullptr, *error = nullptr, *text = nullptr;
  if (!PyArg_ParseTuple(args, "sKsss", &op, &dtypes, &of, &error, &text)) return nullptr;
  add_refusal(op, {dtypes, of, error, text});
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// widen(operator, dtype_mask, through): before activate.
PyObject* widen(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  const char* op = nullptr;
  unsigned long long dtypes = 0;
  int through = 0;
  if (!PyArg_ParseTuple(args, "sKi", &op, &dtypes, &through)) return nullptr;
  add_widening(op, {dtypes, static_cast<c10::ScalarType>(through)});
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// narrow_autocast(on): after activate.
PyObject* narrow_autocast(PyObject*, PyObject* on) {
  HANDLE_TH_ERRORS
  narrow_batch_norms(PyObject_IsTrue(on) == 1);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// Natively _mps_host_alias_storage: a CPU storage over the bytes of an mps storage.
PyObject* host_alias_storage(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPStorage_Check(object),
                   "_mps_host_alias_storage: expected a torch.UntypedStorage");
  const auto& mps = THPStorage_Unpack(object);
  TORCH_CHECK_VALUE(mps.device().is_mps(),
                    "getHostAliasStorage: expected an MPS storage, got device=", mps.device());
  held::write(mps);
  TORCH_CHECK(twin_of(*mps.unsafeGetStorageImpl()) != nullptr,
              "getHostAliasStorage: storage was not allocated by the MPSAllocator");
  TORCH_CHECK(backing().is_cpu(),
              "getHostAliasStorage: storage is not backed by a shared (unified) MTLBuffer");
  c10::DataPtr data(
      mps.mutable_data(), new c10::Storage(mps),
      [](void* owner) { delete static_cast<c10::Storage*>(owner); }, c10::Device(c10::kCPU));
  return THPStorage_Wrap(c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(mps.nbytes())),
      std::move(data), /*allocator=*/nullptr, /*resizable=*/false));
  END_HANDLE_TH_ERRORS
}

PyObject* extent(void* address, size_t bytes) {
  return Py_BuildValue("NN", PyLong_FromVoidPtr(address), PyLong_FromSize_t(bytes));
}

// (address, bytes) of an mps tensor: from its first element to its storage's end; None for a tensor
// of another device. Here and not in Python, because modes such as torch.set_default_device would
// make each question a Python call.
PyObject* tensor_extent(PyObject*, PyObject* object) {
  HANDLE_TH_ERRORS
  TORCH_CHECK_TYPE(THPVariable_Check(object), "tensor_extent: expected a torch.Tensor");
  const auto& tensor = THPVariable_Unpack(object);
  if (!is_mps(tensor)) Py_RETURN_NONE;
  void* address = tensor.mutable_data_ptr();
  TORCH_CHECK(address != nullptr || tensor.numel() == 0,
              "a Metal kernel was given a tensor without memory, such as a FakeTensor");
  const auto offset = static_cast<size_t>(tensor.storage_offset()) * tensor.itemsize();
  return extent(address, tensor.storage().nbytes() - offset);
  END_HANDLE_TH_ERRORS
}

// (address, bytes) of what Metal kernels report errors to.
PyObject* error_buffer(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  return extent(report_buffer(), report_buffer_bytes());
  END_HANDLE_TH_ERRORS
}

PyObject* text(const std::string& value) {
  // Names come from programs: what is no UTF-8 must not stop a trace.
  return PyUnicode_DecodeUTF8(value.data(), static_cast<Py_ssize_t>(value.size()), "replace");
}

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
  PyObject* list = PyList_New(0);
  if (list == nullptr) return nullptr;
  for (const auto& record : recording.records) {
    PyObject* tuple = record_tuple(record);
    const bool added = tuple != nullptr && PyList_Append(list, tuple) == 0;
    Py_XDECREF(tuple);
    if (!added) {
      Py_DECREF(list);
      return nullptr;
    }
  }
  return list;
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
    rethrow_as_mps(error);
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

// connect_metal(address of a ShaderCalls) -> address of the Metal that C++ extensions reach.
PyObject* connect_extensions(PyObject*, PyObject* calls) {
  HANDLE_TH_ERRORS
  const auto* table = static_cast<const ShaderCalls*>(PyLong_AsVoidPtr(calls));
  if (table == nullptr) {
    TORCH_CHECK_VALUE(PyErr_Occurred() != nullptr, "connect_metal: expected an address");
    return nullptr;
  }
  return PyLong_FromVoidPtr(connect_metal(table));
  END_HANDLE_TH_ERRORS
}

// --- the ledger

// Which lines of which files are the program's own; the GIL guards it. A code object that was seen
// is kept, so that its address stays its own.
struct ProgramLines {
  struct Line {
    std::string file;
    std::string function;
    int number;
  };
  enum class Whose : uint8_t { kProgram, kLibrary, kPrinting, kNobody };

  std::vector<std::string> libraries;  // folders whose code is not the program's
  std::vector<std::string> nobodys;    // torch's and our own: never worth naming
  std::string printing;                // torch's file that turns tensors into text
  std::unordered_map<PyCodeObject*, Whose> seen;
  std::unordered_map<std::string, ledger::Line> numbers;
  std::vector<Line> lines;

  static bool starts_with_any(const std::string& file, const std::vector<std::string>& starts) {
    return std::any_of(starts.begin(), starts.end(), [&](const std::string& start) {
      return file.compare(0, start.size(), start) == 0;
    });
  }

  static std::string utf8(PyObject* text) {
    const char* value = PyUnicode_AsUTF8(text);
    if (value != nullptr) return value;
    PyErr_Clear();
    return "?";
  }

  Whose whose(PyCodeObject* code) {
    const auto found = seen.find(code);
    if (found != seen.end()) return found->second;
    const auto file = utf8(code->co_filename);
    Py_INCREF(code);
    const bool generated = !file.empty() && file[0] == '<' && file != "<string>";
    const auto whose = file == printing                              ? Whose::kPrinting
                       : generated || starts_with_any(file, nobodys) ? Whose::kNobody
                       : starts_with_any(file, libraries)            ? Whose::kLibrary
                                                                     : Whose::kProgram;
    seen.emplace(code, whose);
    return whose;
  }

  ledger::Line number_of(PyFrameObject* frame, PyCodeObject* code) {
    Line line{utf8(code->co_filename), utf8(code->co_name), PyFrame_GetLineNumber(frame)};
    const auto key = line.file + ':' + std::to_string(line.number);
    const auto [found, is_new] = numbers.try_emplace(key, lines.size() + 1);
    if (is_new) lines.push_back(std::move(line));
    return found->second;
  }
};

ProgramLines& program_lines() {
  static auto* lines = new ProgramLines();
  return *lines;
}

// The innermost line of the program's own files; of a library's, if it has none on the stack.
// Autograd's threads have no Python of their own: their work is of the line that ran last, which
// waits for them.
ledger::Line find_line() {
  static std::atomic<ledger::Line> last{0};
  if (PyGILState_GetThisThreadState() == nullptr || Py_IsInitialized() == 0) return last;
  const auto gil = PyGILState_Ensure();
  auto& lines = program_lines();
  ledger::Line of_library = 0;
  ledger::Line of_program = 0;
  bool printing = false;
  PyFrameObject* frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame != nullptr && of_program == 0) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    const auto whose = lines.whose(code);
    printing |= whose == ProgramLines::Whose::kPrinting;
    if (whose == ProgramLines::Whose::kProgram) of_program = lines.number_of(frame, code);
    if (whose == ProgramLines::Whose::kLibrary && of_library == 0) {
      of_library = lines.number_of(frame, code);
    }
    Py_DECREF(code);
    PyFrameObject* caller = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = caller;
  }
  Py_XDECREF(frame);
  PyGILState_Release(gil);
  ledger::within().printing = printing;
  const auto found = of_program != 0 ? of_program : of_library;
  if (found != 0) last = found;
  return found != 0 ? found : last.load();
}

// start_ledger(find_all, folders of libraries, folders of code that is never named, the file that
//              prints tensors)
PyObject* start_ledger(PyObject*, PyObject* args) {
  HANDLE_TH_ERRORS
  int find_all = 0;
  PyObject *libraries = nullptr, *nobodys = nullptr;
  const char* printing = nullptr;
  if (!PyArg_ParseTuple(args, "pOOs", &find_all, &libraries, &nobodys, &printing)) return nullptr;
  program_lines().printing = printing;
  program_lines().libraries = strings(libraries);
  program_lines().nobodys = strings(nobodys);
  ledger::start(find_all != 0, find_line);
  profiler::follow_ledger();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

PyObject* stop_ledger(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  ledger::stop();
  profiler::follow_ledger();
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

// note_shader(names): a Metal library with these kernels was compiled.
PyObject* note_shader(PyObject*, PyObject* names) {
  HANDLE_TH_ERRORS
  const char* value = PyUnicode_AsUTF8(names);
  if (value == nullptr) return nullptr;
  ledger::add(ledger::Kind::kShader, value);
  Py_RETURN_NONE;
  END_HANDLE_TH_ERRORS
}

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

// {"ns", "lines": [(file, function, number)], "events": [(kind, name, detail, line, count, bytes,
//  ns)], "memory": [(ns, live, reserved)], "held": [(line, at the peak, largest)], "peak_live",
//  "peak_reserved", "peak_line"}. Lines are counted from 1.
PyObject* read_ledger(PyObject*, PyObject*) {
  HANDLE_TH_ERRORS
  static constexpr const char* kKinds[] = {"native", "fallback", "missing",   "refused", "float64",
                                           "limit",  "sync",     "to_device", "to_host", "shader"};
  const auto ledger = ledger::snapshot();
  return Py_BuildValue(
      "{sLsNsNsNsNsKsKsI}", "ns", static_cast<long long>(ledger.ns), "lines",
      list_of(program_lines().lines,
              [](const ProgramLines::Line& line) {
                return Py_BuildValue("NNi", text(line.file), text(line.function), line.number);
              }),
      "events",
      list_of(ledger.events,
              [](const ledger::Event& event) {
                return Py_BuildValue("sNNIKKL", kKinds[static_cast<size_t>(event.kind)],
                                     text(event.name), text(event.detail), event.line, event.count,
                                     event.bytes, static_cast<long long>(event.ns));
              }),
      "memory",
      list_of(ledger.memory,
              [](const ledger::MemoryPoint& point) {
                return Py_BuildValue("LKK", static_cast<long long>(point.ns), point.live,
                                     point.reserved);
              }),
      "held",
      list_of(ledger.lines,
              [](const ledger::LineMemory& line) {
                return Py_BuildValue("IKK", line.line, line.at_peak, line.largest);
              }),
      "peak_live", ledger.peak_live, "peak_reserved", ledger.peak_reserved, "peak_line",
      ledger.peak_line);
  END_HANDLE_TH_ERRORS
}

PyMethodDef g_methods[] = {
    {"start_ledger", start_ledger, METH_VARARGS, nullptr},
    {"stop_ledger", stop_ledger, METH_NOARGS, nullptr},
    {"read_ledger", read_ledger, METH_NOARGS, nullptr},
    {"note_shader", note_shader, METH_O, nullptr},
    {"activate", activate, METH_VARARGS, nullptr},
    {"provide_kernels", provide_kernels, METH_O, nullptr},
    {"refuse", refuse, METH_VARARGS, nullptr},
    {"widen", widen, METH_VARARGS, nullptr},
    {"narrow_autocast", narrow_autocast, METH_O, nullptr},
    {"host_alias_storage", host_alias_storage, METH_O, nullptr},
    {"tensor_extent", tensor_extent, METH_O, nullptr},
    {"error_buffer", error_buffer, METH_NOARGS, nullptr},
    {"open_recording", open_recording, METH_NOARGS, nullptr},
    {"close_recording", close_recording, METH_O, nullptr},
    {"take_trace", take_trace, METH_NOARGS, nullptr},
    {"records_kernels", records_kernels, METH_NOARGS, nullptr},
    {"wait_to_time_kernel", wait_to_time_kernel, METH_NOARGS, nullptr},
    {"record_kernel", record_kernel, METH_VARARGS, nullptr},
    {"connect_metal", connect_extensions, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef g_module = {PyModuleDef_HEAD_INIT,
                        "openmps_core",
                        nullptr,
                        -1,
                        g_methods,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr};

}  // namespace
}  // namespace openmps

PyMODINIT_FUNC PyInit_openmps_core() { return PyModule_Create(&openmps::g_module); }
