#include "ledger/ledger.h"

#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <unordered_map>

namespace openmps::ledger {

std::atomic<uint32_t> g_mode{kOff};

namespace {

constexpr size_t kMostPoints = 1024;  // of memory over time; then every two become one
constexpr int64_t kFirstInterval = 1'000'000;

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

struct Key {
  uint32_t what;  // name and detail
  Line line;
  Kind kind;
  bool operator==(const Key& other) const {
    return what == other.what && line == other.line && kind == other.kind;
  }
};

struct HashKey {
  size_t operator()(const Key& key) const {
    return std::hash<uint64_t>()((uint64_t{key.what} << 32) ^ (uint64_t{key.line} << 4) ^
                                 static_cast<uint64_t>(key.kind));
  }
};

struct Sum {
  uint64_t count = 0;
  uint64_t bytes = 0;
  int64_t ns = 0;
};

struct What {
  std::string name;
  std::string detail;
};

// Figures over time in a bounded number of equal intervals, the highest of each.
class Curve {
 public:
  void add(int64_t ns, uint64_t live, uint64_t reserved) {
    while (ns / interval_ >= static_cast<int64_t>(kMostPoints)) halve();
    const auto slot = ns / interval_;
    if (points_.empty() || points_.back().ns / interval_ != slot) {
      points_.push_back({slot * interval_, live, reserved});
      return;
    }
    auto& last = points_.back();
    last.live = std::max(last.live, live);
    last.reserved = std::max(last.reserved, reserved);
  }
  const std::vector<MemoryPoint>& points() const { return points_; }

 private:
  void halve() {
    interval_ *= 2;
    const auto old = std::move(points_);
    points_.clear();
    for (const auto& point : old) add(point.ns, point.live, point.reserved);
  }

  int64_t interval_ = kFirstInterval;
  std::vector<MemoryPoint> points_;
};

struct Memory {
  std::unordered_map<Line, uint64_t> live;
  std::unordered_map<Line, uint64_t> at_peak;
  std::unordered_map<Line, uint64_t> largest;
  Curve curve;
  uint64_t peak_live = 0;
  uint64_t peak_reserved = 0;
  Line peak_line = 0;
  bool at_peak_is_old = false;
};

struct State {
  std::mutex mutex;
  Line (*find_line)() = nullptr;
  int64_t start = 0;
  std::unordered_map<std::string, uint32_t> numbers;
  std::vector<What> whats;
  std::unordered_map<Key, Sum, HashKey> sums;
  Memory memory;
};

State& state();

// A forked child has its parent's figures, which are not its own doing: it records nothing.
State* new_state() {
  pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                 [] {
                   state().mutex.unlock();
                   g_mode = kOff;
                 });
  return new State();
}

State& state() {
  static auto* state = new_state();
  return *state;
}

uint32_t number_of(State& s, const std::string& name, const std::string& detail) {
  auto key = name;
  if (!detail.empty()) key += '\n' + detail;
  const auto [found, is_new] = s.numbers.try_emplace(key, s.whats.size());
  if (is_new) s.whats.push_back({name, detail});
  return found->second;
}

// The lines that hold memory, as they were when most was held. Noted when that time is over, not
// at each of the allocations that lead to it.
void note_peak(Memory& memory) {
  if (!memory.at_peak_is_old) return;
  memory.at_peak = memory.live;
  memory.at_peak_is_old = false;
}

}  // namespace

void start(bool find_all, Line (*find_line)()) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  s.find_line = find_line;
  if (s.start == 0) s.start = now_ns();
  g_mode = find_all ? kFindsAll : kRecords;
}

void stop() { g_mode = kOff; }

CurrentOperator& current_operator() {
  thread_local CurrentOperator within;
  return within;
}

Line line() {
  const auto& now = current_operator();
  if (now.operation || now.fallback) return now.line;
  return state().find_line();
}

void add(Kind kind, const std::string& name, const std::string& detail, uint64_t bytes,
         int64_t ns) {
  if (on()) add_from(line(), kind, name, detail, bytes, ns);
}

void add_from(Line line, Kind kind, const std::string& name, const std::string& detail,
              uint64_t bytes, int64_t ns) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  auto& sum = s.sums[{number_of(s, name, detail), line, kind}];
  ++sum.count;
  sum.bytes += bytes;
  sum.ns += ns;
}

void UntracedOperator::begin(const char* name) {
  if (current_operator().operation) return;
  name_ = name;
  line_ = line();
  start_ns_ = now_ns();
}

void UntracedOperator::end() noexcept {
  try {
    if (on()) add_from(line_, Kind::kNative, name_, "", 0, now_ns() - start_ns_);
  } catch (...) {  // out of memory: one event less
  }
}

void taken(Line line, size_t bytes, size_t live, size_t reserved) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  auto& memory = s.memory;
  memory.live[line] += bytes;
  auto& largest = memory.largest[line];
  largest = std::max<uint64_t>(largest, bytes);
  memory.peak_reserved = std::max<uint64_t>(memory.peak_reserved, reserved);
  if (live > memory.peak_live) {
    memory.peak_live = live;
    memory.peak_line = line;
    memory.at_peak_is_old = true;
  }
  memory.curve.add(now_ns() - s.start, live, reserved);
}

void given_back(Line line, size_t bytes, size_t live, size_t reserved) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  note_peak(s.memory);
  auto& of_line = s.memory.live[line];
  of_line -= std::min<uint64_t>(of_line, bytes);  // what was taken before the start is not in here
  s.memory.curve.add(now_ns() - s.start, live, reserved);
}

Snapshot snapshot() {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  note_peak(s.memory);
  Snapshot snapshot;
  snapshot.ns = s.start == 0 ? 0 : now_ns() - s.start;
  for (const auto& [key, sum] : s.sums) {
    const auto& what = s.whats[key.what];
    snapshot.events.push_back(
        {key.kind, what.name, what.detail, key.line, sum.count, sum.bytes, sum.ns});
  }
  snapshot.memory = s.memory.curve.points();
  for (const auto& [line, largest] : s.memory.largest) {
    const auto held = s.memory.at_peak.find(line);
    snapshot.lines.push_back({line, held == s.memory.at_peak.end() ? 0 : held->second, largest});
  }
  snapshot.peak_live = s.memory.peak_live;
  snapshot.peak_reserved = s.memory.peak_reserved;
  snapshot.peak_line = s.memory.peak_line;
  return snapshot;
}

}  // namespace openmps::ledger
