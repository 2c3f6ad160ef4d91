#include "random_kernels.h"

#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <string>

#include "metal_name.h"

namespace openmps {

FindRandomKernel g_find_random_kernel = nullptr;

namespace {

// As in device/random.metal and, because error texts show them, in PyTorch's own kernels.
constexpr std::array kNames = {
    "uniform_dist",     "normal",           "log_normal",
    "cauchy",           "exponential",      "geometric",
    "bernoulli_scalar", "bernoulli_tensor", "random_int",
    "dropout_fwd",      "standard_gamma",   "standard_dirichlet",
    "normalise_gamma",  "randperm_small",   "randperm_dedup_islands",
    "poisson",
};
static_assert(kNames.size() == static_cast<size_t>(Draw::kPoisson) + 1);
constexpr size_t kTypes = static_cast<size_t>(c10::ScalarType::NumOptions);

RandomKernel* find(Draw what, c10::ScalarType type) {
  const auto type_name = metal_name(type);
  TORCH_CHECK(type_name != "unknown", "Undefined type ", type);
  const auto name = c10::str(kNames[static_cast<size_t>(what)], "_", type_name);
  TORCH_INTERNAL_ASSERT(g_find_random_kernel != nullptr);
  auto* entry = g_find_random_kernel(name.c_str());
  TORCH_CHECK(entry != nullptr, "Failed to create function state object for: ", name);
  return new RandomKernel(reinterpret_cast<PlainEntry*>(entry));  // for good, like the code
}

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

}  // namespace

void RandomKernel::run_all(int64_t threads, void** buffers) const {
  if (threads == 0) return;
  TORCH_CHECK(threads <= std::numeric_limits<uint32_t>::max(), "a random operator was asked for ",
              threads, " threads, more than a Metal kernel can have");
  const auto grid = static_cast<unsigned>(threads);
  const Launch launch = {buffers, {grid, 1, 1}, {1, 1, 1}, {grid, 1, 1}, {}};
  Work work = {entry_, &launch};
  const auto wanted = std::min<int64_t>(at::get_num_threads(), threads / kThreadsEach);
  if (wanted > 1 && !at::in_parallel_region() && Team::instance().is_there()) {
    Team::instance().run(&Work::run_share, &work, static_cast<unsigned>(wanted), 0);
  } else {
    work.run(0, grid);
  }
}

void RandomKernel::run(int64_t threads, std::initializer_list<const void*> buffers) const {
  void* bound[kBuffers] = {};
  size_t index = 0;
  for (const void* buffer : buffers) bound[index++] = const_cast<void*>(buffer);
  run_all(threads, bound);
}

void RandomKernel::draw(int64_t count, int64_t per_thread, std::initializer_list<Elements> elements,
                        Blocks blocks, const void* parameters) const {
  const auto whole = count / per_thread;
  void* bound[kBuffers] = {};
  size_t index = 0;
  for (const auto& each : elements) bound[index++] = each.data;
  bound[index] = &blocks;
  bound[index + 1] = const_cast<void*>(parameters);
  run_all(whole, bound);

  const auto rest = count - whole * per_thread;
  if (rest == 0) return;
  // The last thread's elements, of which not all are there, in memory of their own.
  constexpr size_t kMostElements = 4;
  constexpr size_t kMostBytes = kMostElements * 16;
  alignas(16) char scratch[3][kMostBytes];
  TORCH_INTERNAL_ASSERT(elements.size() <= 3 && per_thread <= static_cast<int64_t>(kMostElements));
  index = 0;
  for (const auto& each : elements) {
    const auto* end = static_cast<char*>(each.data) + whole * per_thread * each.bytes_each;
    if (each.is_read) std::memcpy(scratch[index], end, rest * each.bytes_each);
    bound[index] = scratch[index];
    ++index;
  }
  // Around, where a program has set the offset to its end: Metal's long wraps.
  blocks.first =
      static_cast<int64_t>(static_cast<uint64_t>(blocks.first) + static_cast<uint64_t>(whole));
  run_all(1, bound);
  index = 0;
  for (const auto& each : elements) {
    auto* end = static_cast<char*>(each.data) + whole * per_thread * each.bytes_each;
    if (!each.is_read) std::memcpy(end, scratch[index], rest * each.bytes_each);
    ++index;
  }
}

const RandomKernel& random_kernel(Draw what, c10::ScalarType type) {
  static std::atomic<RandomKernel*> table[kNames.size()][kTypes];
  auto& place = table[static_cast<size_t>(what)][static_cast<size_t>(type)];
  auto* kernel = place.load(std::memory_order_acquire);
  if (kernel == nullptr) {
    // Two threads may come here at once; both find the same code.
    kernel = find(what, type);
    place.store(kernel, std::memory_order_release);
  }
  return *kernel;
}

}  // namespace openmps
