#include "engine/cuda/errors.h"

#include <string>

#include "memory/simulated_allocator.h"

namespace openmps {
namespace {

constexpr const char* kCudaError = "CUDA error: ";

// PyTorch's hints about CUDA_LAUNCH_BLOCKING and the like follow on lines of their own.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

bool is_cuda_failure(const c10::Error& error) {
  return dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr ||
         dynamic_cast<const c10::AcceleratorError*>(&error) != nullptr;
}

void rethrow_cuda_error(const c10::Error& error) {
  const std::string text = error.what_without_backtrace();
  if (dynamic_cast<const c10::OutOfMemoryError*>(&error) != nullptr) {
    memory::gpu_has_no_more(text);
  }
  const auto* failed = dynamic_cast<const c10::AcceleratorError*>(&error);
  if (failed == nullptr || text.find(kCudaError) == std::string::npos) throw;
  throw c10::AcceleratorError(
      {__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, 1,
      "The MPS device has failed: the GPU behind it says \"" + first_line(text) +
          "\". Nothing can run on it in this process any more; start the program again.");
}

}  // namespace openmps
