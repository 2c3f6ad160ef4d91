#include "launch.h"

#include <string.h>

#include <atomic>
#include <vector>

namespace openmps {
namespace {

constexpr uint64_t kMostAlongX = 0x7fffffff;
constexpr uint32_t kMostAlongOthers = 65535;
constexpr uint32_t kDeepestGroup = 64;
constexpr uint64_t kValueAlignment = 16;   // in the launch's own bytes
constexpr uint64_t kMemoryAlignment = 64;  // more than any Metal type asks for
void* const kDefaultStream = nullptr;      // torch's

std::atomic<const char*> g_last_kernel{nullptr};

uint64_t rounded_up(uint64_t size, uint64_t step) { return (size + step - 1) / step * step; }

// CUDA's grid of blocks, and the threads of one.
struct Cut {
  unsigned blocks[3];
  unsigned threads[3];
};

// How the grid is cut. False if there are more threadgroups than a launch can have.
bool cut(const Dispatch& dispatch, CudaLaunch* launch, Cut* out) {
  auto& [blocks, block_threads] = *out;
  uint64_t total = 1;
  for (int axis = 0; axis < 3; ++axis) {
    const uint64_t threads = dispatch.grid[axis], in_group = dispatch.group[axis];
    launch->grid[axis] = dispatch.grid[axis];
    launch->group[axis] = block_threads[axis] = dispatch.group[axis];
    launch->groups[axis] = blocks[axis] =
        static_cast<unsigned>((threads + in_group - 1) / in_group);
    // Far beyond what is allowed is enough: a product of three might not fit.
    if (total <= kMostAlongX) total *= blocks[axis];
  }
  const bool is_line = launch->grid[1] == 1 && launch->grid[2] == 1 && launch->group[1] == 1 &&
                       launch->group[2] == 1;
  launch->flat = is_line ? kLine : 0;
  if (dispatch.group[2] > kDeepestGroup) {
    launch->flat |= kFlatThreads;
    block_threads[0] *= block_threads[1] * block_threads[2];
    block_threads[1] = block_threads[2] = 1;
  }
  if (blocks[1] <= kMostAlongOthers && blocks[2] <= kMostAlongOthers) {
    return blocks[0] <= kMostAlongX;
  }
  launch->flat |= kFlatGroups;
  if (total > kMostAlongX) return false;
  blocks[0] = static_cast<unsigned>(total);
  blocks[1] = blocks[2] = 1;
  return true;
}

// Gives out dynamic threadgroup memory; how many bytes there are in all.
unsigned place_dynamic(const Dispatch& dispatch, CudaLaunch* launch) {
  unsigned end = 0;
  for (unsigned n = 0; n < kBuffers; ++n) {
    launch->dynamic_offset[n] = end;
    end += static_cast<unsigned>(rounded_up(dispatch.dynamic_bytes[n], 16));
  }
  return end;
}

// Values that do not travel with the launch: GPU memory of their own, until the kernel is done.
struct Spilled {
  std::vector<char> bytes;
  std::vector<unsigned> buffers;  // whose
  std::vector<size_t> offsets;

  void add(unsigned buffer, const void* value, size_t size) {
    buffers.push_back(buffer);
    offsets.push_back(bytes.size());
    // Kernels may read a little further than a value is long.
    bytes.resize(rounded_up(bytes.size() + size, kMemoryAlignment) + kMemoryAlignment);
    memcpy(bytes.data() + offsets.back(), value, size);
  }
};

void bind(const Dispatch& dispatch, const CudaKernel& kernel, CudaLaunch* launch,
          Spilled* spilled) {
  uint64_t used = 0;
  launch->nothing = 0;
  for (unsigned n = 0; n < kBuffers; ++n) {
    launch->inline_offset[n] = 0;
    launch->buffers[n] = dispatch.buffers[n];
    if (!(dispatch.copied >> n & 1)) continue;
    launch->buffers[n] = nullptr;
    if (!(kernel.declared >> n & 1)) continue;
    const auto size = dispatch.buffer_bytes[n];
    if (!(kernel.inlined >> n & 1) || used + size > kInlineBytes) {
      spilled->add(n, dispatch.buffers[n], size);
      continue;
    }
    launch->inline_offset[n] = static_cast<unsigned short>(used + 1);
    memcpy(launch->bytes + used, dispatch.buffers[n], size);
    used += rounded_up(size, kValueAlignment);
  }
}

// Which of the kernel's functions fits the buffers that it is given.
unsigned alignment_of(const Dispatch& dispatch, const CudaKernel& kernel) {
  uintptr_t all = 1u << (kAlignments - 1);
  for (unsigned n = 0; n < kBuffers; ++n) {
    const bool is_address = kernel.declared >> n & 1 && !(dispatch.copied >> n & 1);
    if (is_address) all |= reinterpret_cast<uintptr_t>(dispatch.buffers[n]);
  }
  return static_cast<unsigned>(__builtin_ctzll(all));
}

struct Queued {
  const CudaKernel& kernel;
  void* function;
  CudaLaunch launch;
  Cut sizes;
  unsigned dynamic_bytes;
  Spilled spilled;

  int run() {
    const auto& driver = *kernel.driver;
    if (spilled.bytes.empty()) return launch_it();
    // Allocated, filled and freed in the order of the stream: nobody waits.
    uint64_t memory = 0;
    const auto size = spilled.bytes.size();
    if (const int failed = driver.allocate(&memory, size, kDefaultStream)) return failed;
    int failed = driver.copy_from_host(memory, spilled.bytes.data(), size, kDefaultStream);
    if (!failed) {
      for (size_t i = 0; i < spilled.buffers.size(); ++i) {
        launch.buffers[spilled.buffers[i]] =
            reinterpret_cast<void*>(static_cast<uintptr_t>(memory + spilled.offsets[i]));
      }
      failed = launch_it();
    }
    const int left = driver.release(memory, kDefaultStream);
    return failed ? failed : left;
  }

 private:
  int launch_it() {
    void* parameters[] = {&launch};
    const auto& [blocks, threads] = sizes;
    return kernel.driver->launch(function, blocks[0], blocks[1], blocks[2], threads[0], threads[1],
                                 threads[2], dynamic_bytes, kDefaultStream, parameters, nullptr);
  }
};

// A thread that never used the GPU has no context, and that is not looked at before it fails.
int run_in_context(Queued* queued) {
  const int failed = queued->run();
  if (!failed) return 0;
  const auto& driver = *queued->kernel.driver;
  void* context = nullptr;
  if (driver.get_context(&context) || context == driver.context) return failed;
  if (driver.set_context(driver.context)) return failed;
  const int failed_again = queued->run();
  if (context != nullptr) driver.set_context(context);  // another library's
  return failed_again;
}

}  // namespace
}  // namespace openmps

int openmps_cuda_launch(const openmps::Dispatch* dispatch) {
  using namespace openmps;
  const auto& kernel = *static_cast<const CudaKernel*>(dispatch->entry);
  const auto alignment = alignment_of(*dispatch, kernel);
  void* const function = __atomic_load_n(&kernel.functions[alignment], __ATOMIC_ACQUIRE);
  if (function == nullptr) return kNotBuilt + static_cast<int>(alignment);
  Queued queued{kernel, function, {}, {}, 0, {}};
  if (!cut(*dispatch, &queued.launch, &queued.sizes)) return kTooManyGroups;
  queued.dynamic_bytes = place_dynamic(*dispatch, &queued.launch);
  bind(*dispatch, kernel, &queued.launch, &queued.spilled);
  const int failed = run_in_context(&queued);
  if (!failed) g_last_kernel.store(kernel.name, std::memory_order_relaxed);
  return failed;
}

const char* openmps_cuda_last_kernel() {
  return openmps::g_last_kernel.load(std::memory_order_relaxed);
}
