#include "engine/builtin_kernels.h"

#include <c10/util/Exception.h>

#include <limits>
#include <mutex>
#include <unordered_map>

#include "engine/engine.h"

namespace openmps {

FindKernelCode g_find_kernel_code = nullptr;

void BuiltinKernel::run(int64_t threads, c10::ArrayRef<KernelArgument> arguments) const {
  if (threads == 0) return;
  TORCH_CHECK(threads <= std::numeric_limits<uint32_t>::max(), "an operator was asked for ",
              threads, " threads, more than a Metal kernel can have");
  engine().launch(code_, static_cast<uint32_t>(threads), arguments);
}

const BuiltinKernel* find_builtin_kernel(const std::string& name) {
  // Never destroyed: kernels may be asked for while the process ends.
  static auto& kernels = *new std::unordered_map<std::string, const BuiltinKernel*>();
  static auto& mutex = *new std::mutex();
  {
    const std::lock_guard<std::mutex> lock(mutex);
    const auto found = kernels.find(name);
    if (found != kernels.end()) return found->second;
  }
  // Without the lock: this may compile, and waits for Python. Two threads find the same code.
  TORCH_INTERNAL_ASSERT(g_find_kernel_code != nullptr);
  auto* code = g_find_kernel_code(name.c_str());
  const std::lock_guard<std::mutex> lock(mutex);
  auto& kernel = kernels[name];
  if (kernel == nullptr && code != nullptr) kernel = new BuiltinKernel(code);
  return kernel;
}

}  // namespace openmps
