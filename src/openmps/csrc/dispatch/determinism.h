// torch.use_deterministic_algorithms on a Mac.
#pragma once

#include <ATen/Context.h>
#include <ATen/core/function_schema.h>
#include <ATen/core/stack.h>

namespace openmps {

// What torch.use_deterministic_algorithms sets. Where the engine's kernels alert by themselves,
// PyTorch's own switch, which is the whole process's, always says that alerts only warn: NoAlerts
// drops theirs, and what the program asked for counts for a Mac's.
void set_deterministic(bool wanted, bool only_warn);
bool alerts_only_warn();

// Warns or throws, as the program asked, for an operator whose kernel on a Mac may answer
// differently from run to run. The arguments stand on the stack from `first`.
void alert_if_not_deterministic(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                                size_t first);

inline const at::Context& g_context = at::globalContext();  // which is slow to ask for it
inline bool must_be_deterministic() { return C10_UNLIKELY(g_context.deterministicAlgorithms()); }

// While it lives, warnings of that from kernels that this thread runs are dropped; where they have
// a deterministic way, they take it. For those of the backing device, which are not a Mac's.
class NoAlerts {
 public:
  NoAlerts() : silent_(must_be_deterministic()) {
    if (C10_UNLIKELY(silent_)) begin();
  }
  NoAlerts(const NoAlerts&) = delete;
  NoAlerts& operator=(const NoAlerts&) = delete;
  ~NoAlerts() {
    if (C10_UNLIKELY(silent_)) end();
  }

 private:
  void begin();
  void end() noexcept;

  const bool silent_;
  c10::WarningHandler* before_ = nullptr;
};

}  // namespace openmps
