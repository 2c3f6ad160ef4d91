#include "engine/reports.h"

#include <c10/metal/error.h>
#include <c10/util/Exception.h>

#include <new>

#include "engine/engine.h"

namespace openmps {

using c10::metal::ErrorMessages;

std::atomic<void*> g_reports{nullptr};

namespace {

// Memory that the host and the device both see, for good: kernels may still run at exit.
ErrorMessages* shared_messages() {
  static auto* messages = [] {
    void* memory = engine().allocate_shared(sizeof(ErrorMessages));
    auto* zeroed = new (memory) ErrorMessages();
    g_reports.store(zeroed, std::memory_order_relaxed);
    return zeroed;
  }();
  return messages;
}

}  // namespace

void* report_buffer() { return shared_messages(); }

void report(const std::string& message) {
  auto* messages = shared_messages();
  const auto index = __atomic_fetch_add(&messages->count, 1, __ATOMIC_ACQ_REL);
  if (index >= c10::metal::error_message_count) return;
  auto& slot = messages->msg[index];
  slot = {};
  message.copy(slot.message, sizeof(slot.message) - 1);
}

size_t report_buffer_bytes() { return sizeof(ErrorMessages); }

void raise_reported() {
  auto* messages = static_cast<ErrorMessages*>(g_reports.load(std::memory_order_relaxed));
  // A kernel that another thread has started may be reporting right now.
  if (__atomic_exchange_n(&messages->count, 0, __ATOMIC_ACQUIRE) == 0) return;
  const auto& first = messages->msg[0];
  throw c10::AcceleratorError({first.func, first.file, first.line}, 1, first.message);
}

void finish() {
  try {
    synchronize_engine();
  } catch (const c10::Error& error) {
    engine().rethrow(error);
  }
  raise_report();
}

}  // namespace openmps
