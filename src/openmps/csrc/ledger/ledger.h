// What a program did on the device, and from which of its lines: `openmps check` and
// `openmps run --ledger`. Events are counted by what they are and where they came from, so a long
// program costs memory by its distinct lines only. Off, it costs one load of a flag.
#pragma once

#include <c10/macros/Macros.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace openmps::ledger {

enum class Kind : uint8_t {
  kNative,    // an operator that a Mac has
  kFallback,  // one that a Mac runs on the CPU
  kMissing,   // one that a Mac does not have
  kRefused,   // arguments that a Mac refuses
  kDouble,    // float64 or complex128 came to be on the device
  kLimit,     // beyond what Metal can do
  kSync,      // the program waited for the device
  kToDevice,
  kToHost,
  kShader,  // a Metal library was compiled
};

// A line of a program, by number; 0 where no Python code called.
using Line = uint32_t;

struct Event {
  Kind kind;
  std::string name;
  std::string detail;
  Line line;
  uint64_t count = 0;
  uint64_t bytes = 0;
  int64_t ns = 0;
};

struct MemoryPoint {
  int64_t ns;  // since the start
  uint64_t live;
  uint64_t reserved;
};

struct LineMemory {
  Line line;
  uint64_t at_peak;  // live when the most was
  uint64_t largest;  // buffer that it asked for
};

struct Snapshot {
  int64_t ns = 0;
  std::vector<Event> events;
  std::vector<MemoryPoint> memory;
  std::vector<LineMemory> lines;
  uint64_t peak_live = 0;
  uint64_t peak_reserved = 0;
  Line peak_line = 0;  // which reached it
};

enum Mode : uint32_t { kOff = 0, kRecords = 1, kFindsAll = 3 };
extern std::atomic<uint32_t> g_mode;

inline bool on() { return C10_UNLIKELY(g_mode.load(std::memory_order_relaxed) != kOff); }
// Whether what a Mac refuses is written down instead, and done anyway.
inline bool finds_all() {
  return C10_UNLIKELY(g_mode.load(std::memory_order_relaxed) == kFindsAll);
}

// `find_line` says which line is running; it is called without locks.
void start(bool find_all, Line (*find_line)());
void stop();
Snapshot snapshot();

// The line that the running operator was called from.
Line line();
void add(Kind kind, const std::string& name, const std::string& detail = "", uint64_t bytes = 0,
         int64_t ns = 0);
void add_from(Line line, Kind kind, const std::string& name, const std::string& detail,
              uint64_t bytes, int64_t ns);

// An operator and all that runs within it: of one line. Copies within a fallback are its own.
struct CurrentOperator {
  Line line = 0;
  bool operation = false;
  bool fallback = false;
  bool printing = false;  // the line that was found last is torch's printing of a tensor
  bool doubles = false;   // float64 was among its arguments: it is no news in its results
};
CurrentOperator& current_operator();

// An operator of our own making, which the profiler does not see: from here to the end of the
// scope.
class UntracedOperator {
 public:
  explicit UntracedOperator(const char* name) {
    if (on()) begin(name);
  }
  UntracedOperator(const UntracedOperator&) = delete;
  UntracedOperator& operator=(const UntracedOperator&) = delete;
  ~UntracedOperator() {
    if (C10_UNLIKELY(name_ != nullptr)) end();
  }

 private:
  void begin(const char* name);
  void end() noexcept;

  const char* name_ = nullptr;
  Line line_ = 0;
  int64_t start_ns_ = 0;
};

// The device's memory, as the simulated allocator enters it. The caller holds its lock.
void taken(Line line, size_t bytes, size_t live, size_t reserved);
void given_back(Line line, size_t bytes, size_t live, size_t reserved);

}  // namespace openmps::ledger
