#include "engine/accelerator_engine.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>

namespace openmps {
namespace {

class AcceleratorEvent final : public EngineEvent {
 public:
  AcceleratorEvent(c10::Device device, bool timing)
      : device_(device),
        guard_(device.type()),
        flag_(timing ? c10::EventFlag::BACKEND_DEFAULT : c10::EventFlag::PYTORCH_DEFAULT) {}
  ~AcceleratorEvent() override {
    if (event_ != nullptr) guard_.destroyEvent(event_, device_.index());
  }

  void record() override {
    ensure_engine_started();
    guard_.record(&event_, stream(), device_.index(), flag_);
  }
  void wait() const override {
    if (event_ != nullptr) guard_.block(event_, stream());
  }
  void synchronize() const override {
    if (event_ != nullptr) guard_.synchronizeEvent(event_);
  }
  bool finished() const override { return event_ == nullptr || guard_.queryEvent(event_); }
  double milliseconds_since(const EngineEvent& start) const override {
    const auto& earlier = static_cast<const AcceleratorEvent&>(start);
    return guard_.elapsedTime(earlier.event_, event_, device_.index());
  }

 private:
  c10::Stream stream() const { return guard_.getStream(device_); }

  c10::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::EventFlag flag_;
  void* event_ = nullptr;
};

}  // namespace

c10::DataPtr AcceleratorEngine::allocate(size_t bytes) {
  return c10::GetAllocator(device().type())->allocate(bytes);
}

void AcceleratorEngine::empty_cache() {
  if (g_engine_started) c10::getDeviceAllocator(device().type())->emptyCache();
}

void* AcceleratorEngine::allocate_shared(size_t bytes) {
  ensure_engine_started();
  auto& memory = *new c10::DataPtr(at::getHostAllocator(device().type())->allocate(bytes));
  return memory.get();
}

void AcceleratorEngine::start() { at::globalContext().lazyInitDevice(device().type()); }

void AcceleratorEngine::synchronize() { guard().synchronizeDevice(device().index()); }

bool AcceleratorEngine::is_idle() { return guard().queryStream(guard().getStream(device())); }

std::unique_ptr<EngineEvent> AcceleratorEngine::new_event(bool timing) {
  return std::make_unique<AcceleratorEvent>(device(), timing);
}

at::Generator AcceleratorEngine::new_generator() {
  ensure_engine_started();
  return at::globalContext()
      .getAcceleratorHooksInterface(device().type())
      .getNewGenerator(device().index());
}

}  // namespace openmps
