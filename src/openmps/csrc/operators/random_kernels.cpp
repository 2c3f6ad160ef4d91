#include "operators/random_kernels.h"

#include <ATen/ops/empty.h>
#include <c10/util/Exception.h>

#include <array>
#include <atomic>
#include <string>

#include "engine/engine.h"
#include "mac/metal_name.h"

namespace openmps {
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
  const auto* kernel = find_builtin_kernel(name);
  TORCH_CHECK(kernel != nullptr, "Failed to create function state object for: ", name);
  return new RandomKernel(*kernel);  // for good, like the code
}

constexpr size_t kMostBuffers = 8;
using Buffers = std::array<KernelArgument, kMostBuffers>;

}  // namespace

void RandomKernel::draw(int64_t count, int64_t per_thread, c10::ArrayRef<Elements> elements,
                        Blocks blocks, KernelArgument parameters) const {
  const auto whole = count / per_thread;
  const auto bind = [&](auto address_of) {
    Buffers bound = {};
    for (size_t i = 0; i < elements.size(); ++i) bound[i] = {address_of(i)};
    bound[elements.size()] = bytes_of(blocks);
    bound[elements.size() + 1] = parameters;
    return bound;
  };
  const auto buffers = elements.size() + (parameters.data == nullptr ? 1 : 2);
  const auto all = bind([&](size_t i) { return elements[i].data; });
  kernel_.run(whole, {all.data(), buffers});

  const auto rest = count - whole * per_thread;
  if (rest == 0) return;
  // The last thread's elements, of which not all are there, in memory of their own.
  constexpr int64_t kMostElements = 4;
  constexpr int64_t kMostBytes = kMostElements * 16;
  constexpr int64_t kMostMemories = 3;
  TORCH_INTERNAL_ASSERT(elements.size() <= kMostMemories && per_thread <= kMostElements);
  alignas(16) char on_stack[kMostMemories * kMostBytes];
  at::Tensor on_device;  // freed below while its kernel is still queued: reused only after it
  const bool on_host = engine().shares_memory_with_host();
  if (!on_host) {
    on_device = at::empty({kMostMemories * kMostBytes},
                          at::TensorOptions().dtype(at::kByte).device(backing().device));
  }
  auto* scratch = on_host ? on_stack : static_cast<char*>(on_device.mutable_data_ptr());
  const auto scratch_of = [&](size_t i) { return scratch + i * kMostBytes; };
  const auto end_of = [&](const Elements& each) {
    return static_cast<char*>(each.data) + whole * per_thread * each.bytes_each;
  };
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto& each = elements[i];
    if (each.is_read) engine().copy_bytes(scratch_of(i), end_of(each), rest * each.bytes_each);
  }
  // Around, where a program has set the offset to its end: Metal's long wraps.
  blocks.first =
      static_cast<int64_t>(static_cast<uint64_t>(blocks.first) + static_cast<uint64_t>(whole));
  const auto last = bind(scratch_of);
  kernel_.run(1, {last.data(), buffers});
  for (size_t i = 0; i < elements.size(); ++i) {
    const auto& each = elements[i];
    if (!each.is_read) engine().copy_bytes(end_of(each), scratch_of(i), rest * each.bytes_each);
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
