#include "engine/engine.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/AutogradState.h>

#include <mutex>
#include <new>

#include "engine/cuda/driver.h"
#include "engine/cpu/guarded_memory.h"

namespace openmps {

Backing g_backing;
bool g_backing_started = false;

void choose_backing(c10::DeviceType type) {
  using c10::BackendComponent;
  TORCH_CHECK(type == c10::kCPU || type == c10::kCUDA, "openmps cannot use ", type,
              " memory; the engines are cpu and cuda");
  const bool cpu = type == c10::kCPU;
  const auto component = cpu ? BackendComponent::CPUBit : BackendComponent::CUDABit;

  Backing b;
  b.device = cpu ? c10::Device(c10::kCPU) : c10::Device(type, 0);
  b.key = cpu ? c10::DispatchKey::CPU : c10::DispatchKey::CUDA;
  b.keys = c10::DispatchKeySet(b.key);
  const auto mps = c10::DispatchKeySet(BackendComponent::MPSBit) |
                   c10::getAutocastRelatedKeySetFromBackend(BackendComponent::MPSBit);
  b.mps_bits = mps.raw_repr();
  b.backing_bits = c10::DispatchKeySet(component).raw_repr();
  b.foreign_bits = b.backing_bits | c10::getAutocastRelatedKeySetFromBackend(component).raw_repr();
  const auto plain = mps | c10::DispatchKeySet(c10::DispatchKey::MPS) |
                     c10::getAutogradRelatedKeySetFromBackend(BackendComponent::MPSBit);
  b.plain_bits = plain.raw_repr();
  g_backing = b;
  g_backing_started = cpu;
}

void start_backing() {
  static std::once_flag once;
  std::call_once(once, [] {
    at::globalContext().lazyInitDevice(backing().device.type());
    g_backing_started = true;
  });
}

void prepare_thread() {
  if (!backing().is_cpu()) {
    // cuBLAS, if it is a thread's first work, would warn of a missing context.
    if (g_backing_started) gpu::enter_context();
    return;
  }
  // Autograd gives an accelerator's backward a thread of its own, to keep its queue fed. On the CPU
  // there is no queue, and a second thread means a second team of OpenMP workers: the two teams
  // spin in each other's way, and a small model's step takes a third longer.
  c10::AutogradState::get_tls_state().set_multithreading_enabled(false);
}

void synchronize_backing() {
  if (backing().is_cpu() || !g_backing_started) return;
  backing_guard().synchronizeDevice(backing().device.index());
}

void* allocate_shared(size_t bytes) {
  if (backing().is_cpu()) {
    if (auto isolated = isolated::take(bytes)) return isolated.release_context();
    return ::operator new(bytes);
  }
  ensure_backing_started();
  auto& memory = *new c10::DataPtr(at::getHostAllocator(backing().device.type())->allocate(bytes));
  return memory.get();
}

}  // namespace openmps
