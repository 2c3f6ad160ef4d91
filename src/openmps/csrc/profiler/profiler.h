// Watches what runs on the device. Off, it costs one load of a flag per operator. On, each
// operator, Metal kernel, copy and CPU fallback becomes a Record, which goes to whoever asked: the
// log (log.h) and open recordings (recordings.h).
//
// On the CPU, the time of a record is the wall time of the backing call. Other engines are waited
// for before and after it, so that the time is theirs alone.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/macros/Macros.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <optional>
#include <string>

#include "ledger/ledger.h"
#include "profiler/record.h"
#include "profiler/recordings.h"

namespace openmps::profiler {

// A bit for each Kind that somebody wants. All are set until the first use, which reads the
// environment, as natively.
extern std::atomic<uint32_t> g_wanted;

inline bool wants(Kind kind) {
  return C10_UNLIKELY((g_wanted.load(std::memory_order_relaxed) & bit(kind)) != 0);
}

// One thing that runs, from `begin...` to the end of the scope. Left by an exception, it leaves no
// record. Make one anywhere; begin it only if `wants`.
class Scope {
 public:
  Scope() = default;
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  ~Scope() {
    if (C10_UNLIKELY(record_ != nullptr)) end();
  }

  void begin_operation(const char* name, const char* overload, const Tensors& tensors);
  void begin_operation(const c10::OperatorHandle& op, const torch::jit::Stack& stack);
  void begin_copy(const at::Tensor& to, const at::Tensor& from, bool non_blocking);
  void begin_reading(const at::Tensor& number);

  // Where arguments had to be prepared since `begin...`: the time starts now.
  void restart() {
    if (C10_UNLIKELY(record_ != nullptr)) start();
  }

 protected:
  void begin(Record record);

 private:
  void start();
  void end() noexcept;

  Record* record_ = nullptr;  // owned; no unique_ptr, whose code would be in every kernel
  int exceptions_ = 0;
};

// An operator that runs on the CPU although its tensors are on mps. Natively its overhead counts
// the tensor arguments, and the last of them again, once per return value.
class FallbackScope : public Scope {
 public:
  FallbackScope(const c10::OperatorHandle& op, const torch::jit::Stack& stack, ledger::Kind as) {
    if (wants(Kind::kFallback)) begin_fallback(op, stack, as);
  }

 private:
  // `as` is what a Mac would make of it.
  void begin_fallback(const c10::OperatorHandle& op, const torch::jit::Stack& stack,
                      ledger::Kind as);
};

// Before and after a Metal kernel: waits for the device if somebody wants to know its time.
void wait_to_time_kernel();

// A Metal kernel of compile_shader that has run.
void add_kernel(const std::string& name, const Tensors& tensors, const std::string& detail,
                int64_t start_ns, int64_t end_ns);

// Whether somebody wants `kind`. Reads the environment if nobody has, and throws what is wrong
// with it.
bool asked_for(Kind kind);

// The ledger has been switched on or off.
void follow_ledger();

// torch.mps.profiler
struct Trace {
  bool events = false;
  bool intervals = false;
  Recording recording;
};
void start_trace(const std::string& mode, bool wait);
void stop_trace();
std::optional<Trace> take_trace();  // the one stopped last, or the one running; once

int open_recording(uint32_t kinds);
Recording close_recording(int handle);

// The native line of a record, without times.
std::string message(const Record& record);

}  // namespace openmps::profiler
