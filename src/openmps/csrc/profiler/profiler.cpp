#include "profiler/profiler.h"

#include <ATen/ExpandUtils.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <mutex>
#include <sstream>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "engine/engine.h"
#include "mac/waits.h"
#include "tensor/header.h"
#include "profiler/end.h"
#include "profiler/ledger_entries.h"
#include "profiler/log.h"
#include "profiler/options.h"

namespace openmps::profiler {

std::atomic<uint32_t> g_wanted{kAllKinds};

namespace {

// The kinds that are wanted for more than the ledger: with all their texts.
std::atomic<uint32_t> g_described{kAllKinds};

bool describes(Kind kind) { return (g_described.load(std::memory_order_relaxed) & bit(kind)) != 0; }

// What an operator runs to prepare its arguments is part of it.
thread_local bool g_in_operation = false;

struct State {
  std::mutex mutex;
  bool configured = false;
  Options options;
  Log log;
  Recordings recordings;
  std::optional<int> trace;  // the recording that torch.mps.profiler has open
  pid_t tracing = 0;         // the process that opened it
  Trace open_trace;
  std::optional<Trace> finished;
  std::unordered_map<const void*, uint64_t> buffer_ids;
};

State& state();

// A child of fork() must not inherit the lock from a thread that it does not have.
State* new_state() {
  pthread_atfork([] { state().mutex.lock(); }, [] { state().mutex.unlock(); },
                 [] { state().mutex.unlock(); });
  return new State();
}

// Never destroyed: threads may run operators while the process ends.
State& state() {
  static auto* state = new_state();
  return *state;
}

void update_wanted(const State& s) {
  if (!s.configured) return;
  const auto described = s.options.logged_kinds() | s.recordings.kinds();
  g_described.store(described, std::memory_order_relaxed);
  g_wanted.store(ledger::on() ? kAllKinds : described, std::memory_order_relaxed);
}

void write(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void print_tables() {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  write(s.log.tables(s.options));
}

void open_trace(State& s) {
  s.open_trace = {(s.options.trace & Options::kUseEvents) != 0,
                  (s.options.trace & Options::kUseIntervals) != 0,
                  {}};
  s.trace = s.recordings.open(s.options.traced_kinds());
  s.tracing = getpid();
}

void close_trace(State& s) {
  if (!s.trace) return;
  s.open_trace.recording = s.recordings.close(*s.trace);
  s.finished = std::move(s.open_trace);
  s.trace.reset();
}

// At the first use, as natively. Options that mean nothing are an error then, and at each later
// use.
void configure(State& s) {
  if (s.configured) return;
  s.options = Options::from_environment();
  if (s.options.statistics()) call_at_end(print_tables);
  if (s.options.tracing()) open_trace(s);
  s.configured = true;
  update_wanted(s);
}

// Configures first; the flag may have been set for that only.
bool really_wants(State& s, Kind kind) {
  const std::lock_guard<std::mutex> lock(s.mutex);
  configure(s);
  return wants(kind);
}

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t thread_number() {
  thread_local const auto number = static_cast<uint64_t>(syscall(SYS_gettid));
  return number;
}

// Natively the number of a buffer of the allocator's pools: a freed one keeps its number for the
// next tensor, as an address does here.
std::string buffer_text(const at::Tensor& tensor) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (!(s.options.log & Options::kBufferId) || !is_mps(tensor) || !tensor.has_storage()) return "";
  const void* data = tensor.storage().data();
  const auto id = s.buffer_ids.try_emplace(data, s.buffer_ids.size() + 1).first->second;
  return "(buf#" + std::to_string(id) + ":1)";
}

std::string tensor_text(c10::DeviceType device, c10::ScalarType dtype, c10::IntArrayRef sizes,
                        const std::string& buffer = "") {
  std::ostringstream text;
  text << c10::DeviceTypeName(device) << buffer << ':' << dtype << sizes;
  return text.str();
}

std::string tensor_text(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  const auto buffer = buffer_text(tensor);
  if (tensor.is_nested()) {  // has no sizes
    return "MPS" + buffer + ":" + c10::toString(tensor.scalar_type()) + "[nested]";
  }
  return tensor_text(tensor.device().type(), tensor.scalar_type(), tensor.sizes(), buffer);
}

std::string key_of(const std::string& name, const Tensors& tensors) {
  auto key = name;
  for (const auto* tensor : tensors) key += ":" + tensor_text(*tensor);
  return key;
}

// A Mac has one kernel for each combination of dtypes.
std::string program_of(const std::string& name, const Tensors& tensors) {
  auto program = name;
  for (const auto* tensor : tensors) {
    program += std::string("|") + (tensor->defined() ? c10::toString(tensor->scalar_type()) : "");
  }
  return program;
}

std::string without_namespace(const std::string& name) {
  return name.rfind("aten::", 0) == 0 ? name.substr(6) : name;
}

Tensors tensors_of(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  Tensors tensors;
  const auto count = op.schema().arguments().size();
  for (size_t i = stack.size() - count; i < stack.size(); ++i) {
    if (stack[i].isTensor()) {
      tensors.push_back(&stack[i].toTensor());
    } else if (stack[i].isTensorList()) {
      // The list keeps them alive, and a reference to an element is to the list's own value.
      for (const c10::IValue& value : stack[i].toListRef()) tensors.push_back(&value.toTensor());
    }
  }
  return tensors;
}

// Views and changes of size: no kernel runs on a Mac either.
bool runs_nothing(const c10::OperatorHandle& op) {
  static const std::unordered_set<std::string> kNames = {
      "aten::resize_", "aten::set_", "aten::is_set_to", "aten::resize_as_", "aten::record_stream"};
  const auto& schema = op.schema();
  if (kNames.count(schema.name()) != 0) return true;
  if (schema.returns().empty()) return false;
  for (const auto& result : schema.returns()) {
    if (result.alias_info() == nullptr || result.alias_info()->isWrite()) return false;
  }
  return true;
}

Record operation_record(const std::string& name, const std::string& overload,
                        const Tensors& tensors) {
  Record record;
  record.kind = Kind::kOperation;
  record.name = overload.empty() ? name : name + "." + overload;
  record.waits = waits_for_device(name);
  if (!describes(Kind::kOperation)) return record;
  record.key = key_of(without_namespace(name), tensors);
  record.program = program_of(record.name, tensors);
  return record;
}

// Natively these copies are kernels and not blits: they change the dtype or the layout.
bool needs_copy_kernel(const at::Tensor& to, const at::Tensor& from) {
  const auto format = to.suggest_memory_format();
  const bool same_format = from.is_contiguous(format) && to.is_contiguous(format);
  if (from.dtype() != to.dtype() || from.is_conj() != to.is_conj() ||
      from.is_neg() != to.is_neg()) {
    return true;
  }
  return !same_format && !(from.is_contiguous() && to.is_contiguous());
}

Record copy_kernel_record(const at::Tensor& to, const at::Tensor& from) {
  const bool conj = from.is_conj() != to.is_conj();
  const bool neg = from.is_neg() != to.is_neg();
  const std::string name = conj && neg && from.is_complex() ? "copy_conj_neg"
                           : neg                            ? "copy_neg"
                           : conj                           ? "copy_conj"
                                                            : "copy_identity";
  auto record = operation_record(name, "", {&from});
  record.name = "aten::copy_";
  record.program += std::string("|") + c10::toString(to.scalar_type());
  record.bytes = to.nbytes();
  return record;
}

std::string text_if_described(const at::Tensor& tensor) {
  return describes(Kind::kCopy) ? tensor_text(tensor) : std::string();
}

Record copy_record(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  Record record;
  record.kind = Kind::kCopy;
  record.name = "aten::copy_";
  record.bytes = static_cast<uint64_t>(from.numel()) * to.itemsize();
  record.target = text_if_described(to);
  record.blocking = !non_blocking;
  if (!is_mps(from)) {
    // The CPU converts before anything is copied.
    if (describes(Kind::kCopy)) {
      record.key = tensor_text(c10::kCPU, to.scalar_type(), from.sizes());
    }
    record.direction = Direction::kCpuToMps;
    record.blocking |= from.strides() != to.strides();
    return record;
  }
  record.key = text_if_described(from);
  record.direction = is_mps(to) ? Direction::kMpsToMps : Direction::kMpsToCpu;
  if (is_mps(to)) record.blocking = false;
  return record;
}

void deliver(State& s, Record& record) {
  const std::lock_guard<std::mutex> lock(s.mutex);
  if (record.kind != Kind::kFallback) s.log.number(record);
  s.log.add(record);
  s.recordings.add(record);
  // Untimed lines natively come when a thing starts. Only fallbacks have others within them.
  const bool timed = s.options.timed_lines();
  if (!s.options.prints_lines(record.kind) || (!timed && record.kind == Kind::kFallback)) return;
  write(Log::line(record, s.options, timed) + "\n");
}

}  // namespace

void Scope::begin(Record record) {
  if (g_in_operation) return;
  g_in_operation = record.kind == Kind::kOperation;
  if (ledger::on()) enter_ledger(record);
  record.thread = thread_number();
  record_ = new Record(std::move(record));
  exceptions_ = std::uncaught_exceptions();
  start();
}

void Scope::start() {
  if (describes(record_->kind)) synchronize_engine();
  record_->start_ns = now_ns();
}

void Scope::end() noexcept {
  const std::unique_ptr<Record> owner(std::exchange(record_, nullptr));
  auto& record = *owner;
  if (record.kind == Kind::kOperation) g_in_operation = false;
  leave_ledger(record.kind);
  try {
    if (std::uncaught_exceptions() > exceptions_) return;
    if (describes(record.kind)) synchronize_engine();
    record.duration_ns = now_ns() - record.start_ns;
    if (ledger::on()) write_in_ledger(record);
    if (describes(record.kind)) deliver(state(), record);
  } catch (
      ...) {  // out of memory, or a device that has failed: the program's own calls will say so
  }
}

void Scope::begin_operation(const char* name, const char* overload, const Tensors& tensors) {
  if (!really_wants(state(), Kind::kOperation)) return;
  begin(operation_record(name, overload, tensors));
  if (ledger::on() && record_ != nullptr) note_doubles(tensors);
}

void Scope::begin_operation(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  if (!really_wants(state(), Kind::kOperation) || runs_nothing(op)) return;
  const auto& schema = op.schema();
  const auto tensors = tensors_of(op, stack);
  auto record = operation_record(schema.name(), schema.overload_name(), tensors);
  record.waits |= ledger::on() && indexes_by_mask(schema.name(), stack);
  begin(std::move(record));
  if (ledger::on() && record_ != nullptr) note_doubles(tensors);
}

void Scope::begin_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking) {
  auto& s = state();
  const bool to_mps = is_mps(to);
  const bool from_mps = is_mps(from);
  const bool copies = really_wants(s, Kind::kCopy);
  if (from.numel() == 0 || to.is_same(from)) return;
  if ((!to_mps && !to.is_cpu()) || (!from_mps && !from.is_cpu())) return;
  if (!at::is_expandable_to(from.sizes(), to.sizes())) return;  // the copy will say so
  const auto source = from.sizes() == to.sizes() ? from : from.expand_as(to);
  if (to_mps && from_mps && needs_copy_kernel(to, source)) {
    if (wants(Kind::kOperation)) begin(copy_kernel_record(to, source));
  } else if (copies) {
    begin(copy_record(to, source, non_blocking));
  }
}

void Scope::begin_reading(const at::Tensor& number) {
  if (!really_wants(state(), Kind::kCopy)) return;
  Record record;
  record.kind = Kind::kCopy;
  record.name = "aten::_local_scalar_dense";
  if (describes(Kind::kCopy)) {
    record.key = tensor_text(number);
    record.target = tensor_text(c10::kCPU, number.scalar_type(), number.sizes());
  }
  record.bytes = number.itemsize();
  record.direction = Direction::kMpsToCpu;
  record.blocking = true;
  begin(std::move(record));
}

void FallbackScope::begin_fallback(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                                   ledger::Kind as) {
  auto& s = state();
  if (!really_wants(s, Kind::kFallback)) return;
  Tensors tensors;
  const auto add_last = [&](size_t count) {
    for (size_t i = stack.size() - std::min(count, stack.size()); i < stack.size(); ++i) {
      if (stack[i].isTensor()) tensors.push_back(&stack[i].toTensor());
    }
  };
  add_last(op.schema().arguments().size());
  add_last(op.schema().returns().size());
  Record record;
  record.kind = Kind::kFallback;
  record.reported_as = as;
  for (const auto* tensor : tensors) record.bytes += tensor->defined() ? tensor->nbytes() : 0;
  record.name = op.schema().name();
  record.overload = op.schema().overload_name();
  if (describes(Kind::kFallback)) {
    record.key = key_of(record.name, tensors);
    record.program = record.name;
    const std::lock_guard<std::mutex> lock(s.mutex);
    s.log.number(record);
    if (s.options.prints_lines(Kind::kFallback) && !s.options.timed_lines()) {
      write(Log::line(record, s.options, /*finished=*/false) + "\n");
    }
  }
  begin(std::move(record));
}

void wait_to_time_kernel() {
  if (describes(Kind::kKernel)) synchronize_engine();
}

void add_kernel(const std::string& name, const Tensors& tensors, const std::string& detail,
                int64_t start_ns, int64_t end_ns) {
  auto& s = state();
  if (!really_wants(s, Kind::kKernel)) return;
  Record record;
  record.kind = Kind::kKernel;
  record.name = name;
  if (describes(Kind::kKernel)) record.key = key_of(name, tensors);
  record.detail = detail;
  record.thread = thread_number();
  record.start_ns = start_ns;
  record.duration_ns = end_ns - start_ns;
  if (ledger::on()) {
    ledger::add(ledger::Kind::kNative, "shader::" + name, "", 0, record.duration_ns);
  }
  if (describes(Kind::kKernel)) deliver(s, record);
}

bool asked_for(Kind kind) { return really_wants(state(), kind); }

void follow_ledger() {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  update_wanted(s);
}

void start_trace(const std::string& mode, bool wait) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  configure(s);
  s.options.start(mode, wait);
  if (s.options.tracing()) open_trace(s);
  update_wanted(s);
}

void stop_trace() {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  configure(s);
  s.options.stop();
  close_trace(s);
  update_wanted(s);
}

std::optional<Trace> take_trace() {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  close_trace(s);
  update_wanted(s);
  if (s.tracing != getpid()) s.finished.reset();  // a child of fork() has its parent's records
  return std::exchange(s.finished, std::nullopt);
}

int open_recording(uint32_t kinds) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  configure(s);
  const int handle = s.recordings.open(kinds);
  update_wanted(s);
  return handle;
}

Recording close_recording(int handle) {
  auto& s = state();
  const std::lock_guard<std::mutex> lock(s.mutex);
  auto recording = s.recordings.close(handle);
  update_wanted(s);
  return recording;
}

std::string message(const Record& record) {
  return Log::line(record, Options(), /*finished=*/false);
}

}  // namespace openmps::profiler
