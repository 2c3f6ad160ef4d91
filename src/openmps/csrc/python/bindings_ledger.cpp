// What Python asks of the ledger, and which line of the program an entry is of.
#include "python/bindings.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <unordered_map>
#include <vector>

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

  std::vector<std::string> libraries;         // folders whose code is not the program's
  std::vector<std::string> internal_folders;  // torch's and our own: never worth naming
  std::string printing;                       // torch's file that turns tensors into text
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
    const auto whose = file == printing                                       ? Whose::kPrinting
                       : generated || starts_with_any(file, internal_folders) ? Whose::kNobody
                       : starts_with_any(file, libraries)                     ? Whose::kLibrary
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

void start_ledger(bool find_all, const std::vector<std::string>& libraries,
                  const std::vector<std::string>& internal_folders, const std::string& printing) {
  program_lines().printing = printing;
  program_lines().libraries = libraries;
  program_lines().internal_folders = internal_folders;
  ledger::start(find_all, find_line);
  profiler::follow_ledger();
}

void stop_ledger() {
  ledger::stop();
  profiler::follow_ledger();
}

// Ledger of device/core_interface.py.
py::dict read_ledger() {
  static constexpr const char* kKinds[] = {"native", "fallback", "missing",   "refused", "float64",
                                           "limit",  "sync",     "to_device", "to_host", "shader"};
  const auto ledger = ledger::snapshot();
  py::dict read;
  read["ns"] = ledger.ns;
  read["lines"] = list_of(program_lines().lines, [](const ProgramLines::Line& line) {
    return py::make_tuple(text(line.file), text(line.function), line.number);
  });
  read["events"] = list_of(ledger.events, [](const ledger::Event& event) {
    return py::make_tuple(kKinds[static_cast<size_t>(event.kind)], text(event.name),
                          text(event.detail), event.line, event.count, event.bytes, event.ns);
  });
  read["memory"] = list_of(ledger.memory, [](const ledger::MemoryPoint& point) {
    return py::make_tuple(point.ns, point.live, point.reserved);
  });
  read["held"] = list_of(ledger.lines, [](const ledger::LineMemory& line) {
    return py::make_tuple(line.line, line.at_peak, line.largest);
  });
  read["peak_live"] = ledger.peak_live;
  read["peak_reserved"] = ledger.peak_reserved;
  read["peak_line"] = ledger.peak_line;
  return read;
}

}  // namespace

void bind_ledger(py::module_& module) {
  define(module, "start_ledger", start_ledger);
  define(module, "stop_ledger", stop_ledger);
  define(module, "read_ledger", read_ledger);
  define(module, "note_shader",
         [](const std::string& kernels) { ledger::add(ledger::Kind::kShader, kernels); });
}

}  // namespace openmps
