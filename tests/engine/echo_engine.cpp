// A third engine, small and complete: the CPU's memory and kernels, behind an allocator, a queue, an
// error text and an operator of its own. It comes as a library, and the core knows nothing of it.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/_scaled_dot_product_attention_math.h>
#include <ATen/ops/clamp_min.h>
#include <c10/core/CPUAllocator.h>

#include <chrono>
#include <cstring>
#include <memory>

#include "engine/builtin_kernels.h"
#include "engine/engine.h"
#include "engine/registrar.h"
#include "include/msl/launch/launch.h"
#include "operators/attention.h"

namespace {

using namespace openmps;

struct Counts {
  int64_t allocations, waits, launches, relus;
} counts;

at::Tensor relu(const at::Tensor& self) {
  ++counts.relus;
  return at::clamp_min(self, 0);
}

struct EchoEvent final : EngineEvent {
  void record() override { time = std::chrono::steady_clock::now(); }
  void wait() const override {}
  void synchronize() const override {}
  bool finished() const override { return true; }
  double milliseconds_since(const EngineEvent& start) const override {
    const auto passed = time - static_cast<const EchoEvent&>(start).time;
    return std::chrono::duration<double, std::milli>(passed).count();
  }
  std::chrono::steady_clock::time_point time;
};

struct EchoEngine final : Engine {
  const char* name() const override { return "echo"; }
  c10::Device device() const override { return c10::Device(c10::kCPU); }

  c10::DataPtr allocate(size_t bytes) override {
    ++counts.allocations;
    return c10::GetDefaultCPUAllocator()->allocate(bytes);
  }
  [[noreturn]] void throw_out_of_memory(const c10::Error&, size_t) const override { throw; }
  void empty_cache() override {}
  void* allocate_shared(size_t bytes) override { return ::operator new(bytes); }
  bool shares_memory_with_host() const override { return true; }
  void copy_bytes(void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

  void synchronize() override { ++counts.waits; }
  std::unique_ptr<EngineEvent> new_event(bool) override { return std::make_unique<EchoEvent>(); }

  [[noreturn]] void rethrow(const c10::Error& error) const override {
    TORCH_CHECK(false, "echo: ", error.what_without_backtrace());
  }

  void launch(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) override {
    ++counts.launches;
    void* bound[kBuffers] = {};
    for (size_t i = 0; i < arguments.size(); ++i) bound[i] = const_cast<void*>(arguments[i].data);
    const Launch launch = {bound, {threads, 1, 1}, {1, 1, 1}, {threads, 1, 1}, {}};
    const Block block = {{0, 0, 0}, {threads, 1, 1}};
    reinterpret_cast<PlainEntry*>(code)(&launch, &block);
  }

  void register_operators(Registrar& registrar) override { registrar.impl("relu", relu); }
  at::Tensor attention(const AttentionInputs& in) override {
    return std::get<0>(at::_scaled_dot_product_attention_math(
        in.query, in.key, in.value, in.bias, in.dropout, in.causal, std::nullopt, in.scale,
        in.grouped));
  }
  at::Generator new_generator() override { return at::detail::createCPUGenerator(); }
};

}  // namespace

extern "C" {
openmps::Engine* new_echo_engine() { return new EchoEngine(); }
const Counts* echo_counts() { return &counts; }
}
