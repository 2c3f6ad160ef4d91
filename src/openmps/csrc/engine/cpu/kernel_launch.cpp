#include "engine/cpu/kernel_launch.h"

#include <ATen/Parallel.h>
#include <dlfcn.h>

#include <algorithm>

#include "include/msl/launch/launch.h"

namespace openmps {
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

struct KernelWork {
  PlainEntry* entry;
  const Launch* launch;

  void run(unsigned begin, unsigned end) const {
    const Block block = {{begin, 0, 0}, {end, 1, 1}};
    entry(launch, &block);
  }
  static void run_share(void* data) {
    const auto& work = *static_cast<const KernelWork*>(data);
    const auto& team = Team::instance();
    const uint64_t threads = work.launch->grid[0];
    const auto number = static_cast<uint64_t>(team.number());
    const auto size = static_cast<uint64_t>(team.size());
    work.run(static_cast<unsigned>(threads * number / size),
             static_cast<unsigned>(threads * (number + 1) / size));
  }
};

}  // namespace

void launch_on_cpu(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) {
  auto* entry = reinterpret_cast<PlainEntry*>(code);
  void* bound[kBuffers] = {};
  for (size_t i = 0; i < arguments.size(); ++i) bound[i] = const_cast<void*>(arguments[i].data);
  const Launch launch = {bound, {threads, 1, 1}, {1, 1, 1}, {threads, 1, 1}, {}};
  KernelWork work = {entry, &launch};
  const auto wanted = std::min<int64_t>(at::get_num_threads(), threads / kThreadsEach);
  if (wanted > 1 && !at::in_parallel_region() && Team::instance().is_there()) {
    Team::instance().run(&KernelWork::run_share, &work, static_cast<unsigned>(wanted), 0);
  } else {
    work.run(0, threads);
  }
}

}  // namespace openmps
