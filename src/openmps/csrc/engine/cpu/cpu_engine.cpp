// The CPU behind mps: no queue, memory that the host sees, kernels that fail at once.
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/AutogradState.h>

#include <chrono>
#include <cstring>
#include <new>

#include "engine/cpu/attention.h"
#include "engine/cpu/deterministic_kernels.h"
#include "engine/cpu/guarded_memory.h"
#include "engine/cpu/half_kernels.h"
#include "engine/cpu/kernel_launch.h"
#include "engine/cpu/recurrent.h"
#include "engine/cpu/max_pool1d.h"
#include "engine/cpu/tracking_allocator.h"
#include "engine/cuda/autocast.h"
#include "engine/engine.h"
#include "engine/registrar.h"
#include "memory/simulated_allocator.h"
#include "operators/layers.h"

namespace openmps {
namespace {

class CpuEvent final : public EngineEvent {
 public:
  void record() override { time_ = std::chrono::steady_clock::now(); }
  void wait() const override {}
  void synchronize() const override {}
  bool finished() const override { return true; }
  double milliseconds_since(const EngineEvent& start) const override {
    const auto passed = time_ - static_cast<const CpuEvent&>(start).time_;
    return std::chrono::duration<double, std::milli>(passed).count();
  }

 private:
  std::chrono::steady_clock::time_point time_;
};

class CpuEngine final : public Engine {
 public:
  const char* name() const override { return "cpu"; }
  c10::Device device() const override { return c10::Device(c10::kCPU); }

  c10::DataPtr allocate(size_t bytes) override { return allocate_on_cpu(bytes); }
  [[noreturn]] void throw_out_of_memory(const c10::Error& cause, size_t bytes) const override {
    memory::machine_has_no_more(bytes, cause.what_without_backtrace());
  }
  void empty_cache() override { guarded_memory::release_unused(); }
  void* allocate_shared(size_t bytes) override {
    if (auto guarded = guarded_memory::take(bytes)) return guarded.release_context();
    return ::operator new(bytes);
  }
  bool shares_memory_with_host() const override { return true; }
  bool move_for_shaders(const c10::Storage& mps) override { return guarded_memory::move(mps); }
  void copy_bytes(void* to, const void* from, size_t bytes) override {
    std::memcpy(to, from, bytes);
  }

  // Autograd gives an accelerator's backward a thread of its own, to keep its queue fed. Here there
  // is no queue, and a second thread means a second team of OpenMP workers: the two teams spin in
  // each other's way, and a small model's step takes a third longer.
  void prepare_thread() override {
    c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
  }
  std::unique_ptr<EngineEvent> new_event(bool /*timing*/) override {
    return std::make_unique<CpuEvent>();
  }

  void launch(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) override {
    launch_on_cpu(code, threads, arguments);
  }

  void register_operators(Registrar& registrar) override {
    install_tracking_allocator();
    // Gradients with the bits of the CPU's, which composes linear of other operators.
    registrar.impl_autograd("linear", composed_linear);
    register_recurrent_on_cpu(registrar);
    register_max_pool1d(registrar);
  }
  at::Tensor attention(const AttentionInputs& inputs) override { return attention_on_cpu(inputs); }
  DeterministicKernel deterministic_kernel(const std::string& op) const override {
    return deterministic_cpu_kernel(op);
  }
  HalfKernel half_kernel(const std::string& op) const override { return half_kernel_on_cpu(op); }
  at::Generator new_generator() override { return at::detail::createCPUGenerator(); }
  // For the tests, most of which run without a GPU.
  void take_batch_norms_lazily(bool on) override { openmps::take_batch_norms_lazily(on); }

  // oneDNN adds up in an order of its own for each memory format.
  bool weight_gradients_depend_on_layout() const override { return true; }
};

const bool g_cpu_registered = register_engine(new CpuEngine());

}  // namespace
}  // namespace openmps
