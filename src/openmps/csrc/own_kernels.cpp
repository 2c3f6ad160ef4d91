#include "own_kernels.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <unordered_map>

#include "../include/msl/launch/launch.h"
#include "backing.h"
#include "gpu.h"

namespace openmps {

FindKernelCode g_find_kernel_code = nullptr;

namespace {

// The threads of PyTorch's own operators: another pool would find the cores taken by these, which
// spin for a while after each operator. PyTorch offers them to code compiled with OpenMP only,
// which not every compiler on a user's machine has the library for; these are its entry points.
struct Team {
  using Work = void(void*);
  void (*run)(Work*, void*, unsigned threads, unsigned flags);
  int (*number)();
  int (*size)();

  static const Team& instance() {
    static const Team team = {
        reinterpret_cast<decltype(Team::run)>(dlsym(RTLD_DEFAULT, "GOMP_parallel")),
        reinterpret_cast<decltype(Team::number)>(dlsym(RTLD_DEFAULT, "omp_get_thread_num")),
        reinterpret_cast<decltype(Team::size)>(dlsym(RTLD_DEFAULT, "omp_get_num_threads")),
    };
    return team;
  }
  bool is_there() const { return run != nullptr && number != nullptr && size != nullptr; }
};

// Kernel threads that make it worth while to wake another processor.
constexpr int64_t kThreadsEach = 8192;

struct Work {
  PlainEntry* entry;
  const Launch* launch;

  void run(unsigned begin, unsigned end) const {
    const Block block = {{begin, 0, 0}, {end, 1, 1}};
    entry(launch, &block);
  }
  static void run_share(void* data) {
    const auto& work = *static_cast<const Work*>(data);
    const auto& team = Team::instance();
    const uint64_t threads = work.launch->grid[0];
    const auto number = static_cast<uint64_t>(team.number());
    const auto size = static_cast<uint64_t>(team.size());
    work.run(static_cast<unsigned>(threads * number / size),
             static_cast<unsigned>(threads * (number + 1) / size));
  }
};

void run_on_cpu(PlainEntry* entry, unsigned threads, c10::ArrayRef<Bound> buffers) {
  void* bound[kBuffers] = {};
  for (size_t i = 0; i < buffers.size(); ++i) bound[i] = const_cast<void*>(buffers[i].data);
  const Launch launch = {bound, {threads, 1, 1}, {1, 1, 1}, {threads, 1, 1}, {}};
  Work work = {entry, &launch};
  const auto wanted = std::min<int64_t>(at::get_num_threads(), threads / kThreadsEach);
  if (wanted > 1 && !at::in_parallel_region() && Team::instance().is_there()) {
    Team::instance().run(&Work::run_share, &work, static_cast<unsigned>(wanted), 0);
  } else {
    work.run(0, threads);
  }
}

void run_on_gpu(void* function, unsigned threads, c10::ArrayRef<Bound> buffers) {
  constexpr unsigned kGroup = 256;
  constexpr size_t kAlignment = 16;
  CudaLaunch launch;
  std::memset(&launch, 0, offsetof(CudaLaunch, bytes));
  launch.grid[0] = threads;
  launch.group[0] = std::min(threads, kGroup);
  launch.groups[0] = (threads - 1) / launch.group[0] + 1;
  for (unsigned axis = 1; axis < 3; ++axis) {
    launch.grid[axis] = launch.group[axis] = launch.groups[axis] = 1;
  }
  launch.flat = kLine;
  size_t used = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    const auto& buffer = buffers[i];
    if (buffer.host_bytes == 0) {
      launch.buffers[i] = const_cast<void*>(buffer.data);
      continue;
    }
    TORCH_INTERNAL_ASSERT(used + buffer.host_bytes <= kInlineBytes);
    std::memcpy(launch.bytes + used, buffer.data, buffer.host_bytes);
    launch.inline_offset[i] = static_cast<unsigned short>(used + 1);
    used += (buffer.host_bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  gpu::launch(function, launch);
}

}  // namespace

void OwnKernel::run(int64_t threads, c10::ArrayRef<Bound> buffers) const {
  if (threads == 0) return;
  TORCH_CHECK(threads <= std::numeric_limits<uint32_t>::max(), "an operator was asked for ",
              threads, " threads, more than a Metal kernel can have");
  const auto grid = static_cast<unsigned>(threads);
  if (backing().is_cpu()) {
    run_on_cpu(reinterpret_cast<PlainEntry*>(code_), grid, buffers);
  } else {
    run_on_gpu(code_, grid, buffers);
  }
}

const OwnKernel* find_own_kernel(const std::string& name) {
  // Never destroyed: kernels may be asked for while the process ends.
  static auto& kernels = *new std::unordered_map<std::string, const OwnKernel*>();
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
  if (kernel == nullptr && code != nullptr) kernel = new OwnKernel(code);
  return kernel;
}

}  // namespace openmps
