#include "engine/cuda/driver.h"

#include <c10/util/Exception.h>
#include <dlfcn.h>

#include "engine/engine.h"

namespace openmps::cuda_driver {
namespace {

constexpr int kSuccess = 0;
constexpr int kInvalidContext = 201;

// Of cuda.h, which a machine without the toolkit does not have.
struct Driver {
  int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                unsigned shared_bytes, void* stream, void** parameters, void** extra);
  int (*copy)(uintptr_t to, uintptr_t from, size_t bytes, void* stream);
  int (*error_text)(int error, const char** text);
  int (*device)(int* device, int ordinal);
  int (*retain_context)(void** context, int device);
  int (*set_context)(void* context);

  template <class Function>
  static void find(void* library, const char* name, Function& function) {
    function = reinterpret_cast<Function>(dlsym(library, name));
    TORCH_CHECK(function != nullptr, "NVIDIA's driver has no function ", name,
                "; openmps needs one of CUDA 12 or newer");
  }

  static const Driver& instance() {
    static const Driver driver = [] {
      void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
      TORCH_CHECK(library != nullptr, "NVIDIA's driver cannot be opened: ", dlerror());
      Driver found{};
      find(library, "cuLaunchKernel", found.launch);
      find(library, "cuMemcpyDtoDAsync_v2", found.copy);
      find(library, "cuGetErrorString", found.error_text);
      find(library, "cuDeviceGet", found.device);
      find(library, "cuDevicePrimaryCtxRetain", found.retain_context);
      find(library, "cuCtxSetCurrent", found.set_context);
      return found;
    }();
    return driver;
  }
};

template <class Call>
void run(const char* what, const Call& call) {
  int error = call();
  if (error == kInvalidContext) {
    enter_context();
    error = call();
  }
  if (error == kSuccess) return;
  const char* text = nullptr;
  Driver::instance().error_text(error, &text);
  TORCH_CHECK(false, what, " failed on the GPU: ", text == nullptr ? "unknown error" : text);
}

}  // namespace

void enter_context() {
  static void* const context = [] {
    int device = 0;
    void* primary = nullptr;
    Driver::instance().device(&device, backing().device.index());
    Driver::instance().retain_context(&primary, device);  // for good
    return primary;
  }();
  Driver::instance().set_context(context);
}

void launch(void* function, CudaLaunch& launch) {
  void* parameters[] = {&launch};
  run("a kernel of openmps", [&] {
    return Driver::instance().launch(function, launch.groups[0], 1, 1, launch.group[0], 1, 1,
                                     /*shared_bytes=*/0, /*stream=*/nullptr, parameters, nullptr);
  });
}

void copy(void* to, const void* from, size_t bytes) {
  run("a copy of openmps", [&] {
    return Driver::instance().copy(reinterpret_cast<uintptr_t>(to),
                                   reinterpret_cast<uintptr_t>(from), bytes, /*stream=*/nullptr);
  });
}

}  // namespace openmps::cuda_driver
