// What all of PyTorch's accelerators have in common: memory that the host does not see, a queue,
// events. By PyTorch's interfaces for any device, so that an engine adds only what is its own.
#pragma once

#include <c10/core/impl/VirtualGuardImpl.h>

#include "engine/engine.h"

namespace openmps {

class AcceleratorEngine : public Engine {
 public:
  c10::DataPtr allocate(size_t bytes) override;
  [[noreturn]] void throw_out_of_memory(const c10::Error& cause, size_t) const override {
    rethrow(cause);
  }
  void empty_cache() override;
  void* allocate_shared(size_t bytes) override;
  bool shares_memory_with_host() const override { return false; }

  bool starts_at_first_use() const override { return true; }
  void start() override;
  void synchronize() override;
  bool is_idle() override;
  std::unique_ptr<EngineEvent> new_event(bool timing) override;

  bool checks_indices_first() const override { return true; }
  bool has_alerts_of_its_own() const override { return true; }
  bool keeps_result_layout() const override { return true; }
  bool rounds_softmax_in_steps() const override { return false; }
  at::Generator new_generator() override;

 protected:
  c10::impl::VirtualGuardImpl guard() const { return c10::impl::VirtualGuardImpl(device().type()); }
};

}  // namespace openmps
