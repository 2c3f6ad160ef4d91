#include "engine/cuda/driver.h"

#include <c10/util/Exception.h>

#include <atomic>

#include "csrc_cuda/driver.h"
#include "engine/engine.h"

namespace openmps::cuda_driver {
namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidContext = 201;

const CudaDriver& driver() {
  static std::atomic<const CudaDriver*> known{nullptr};
  const auto* table = known.load(std::memory_order_acquire);
  if (table != nullptr) return *table;
  // Without a lock: this waits for Python. Two threads find the same table.
  TORCH_INTERNAL_ASSERT(g_find_driver != nullptr);
  table = static_cast<const CudaDriver*>(g_find_driver());
  known.store(table, std::memory_order_release);
  return *table;
}

template <class Call>
void run(const char* what, const Call& call) {
  int error = call();
  if (error == kInvalidContext) {
    enter_context();
    error = call();
  }
  if (error == kSuccess) return;
  const char* text = nullptr;
  driver().error_text(error, &text);
  TORCH_CHECK(false, what, " failed on the GPU: ", text == nullptr ? "unknown error" : text);
}

}  // namespace

void enter_context() { driver().set_context(driver().context); }

void launch(void* function, CudaLaunch& launch) {
  void* parameters[] = {&launch};
  run("a kernel of openmps", [&] {
    return driver().launch(function, launch.groups[0], 1, 1, launch.group[0], 1, 1,
                           /*shared_bytes=*/0, /*stream=*/nullptr, parameters, nullptr);
  });
}

void copy(void* to, const void* from, size_t bytes) {
  run("a copy of openmps", [&] {
    return driver().copy(reinterpret_cast<uintptr_t>(to), reinterpret_cast<uintptr_t>(from), bytes,
                         /*stream=*/nullptr);
  });
}

}  // namespace openmps::cuda_driver
