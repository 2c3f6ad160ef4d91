// What Python asks of the ledger, and which line of the program an entry is of.
#include <torch/csrc/Exceptions.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "python/bindings.h"
#include "ledger/ledger.h"
#include "profiler/profiler.h"

namespace openmps {
namespace {

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
  ledger::current_operator().printing = printing;
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

}  // namespace

PyMethodDef g_ledger_methods[] = {
    {"start_ledger", start_ledger, METH_VARARGS, nullptr},
    {"stop_ledger", stop_ledger, METH_NOARGS, nullptr},
    {"read_ledger", read_ledger, METH_NOARGS, nullptr},
    {"note_shader", note_shader, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace openmps
