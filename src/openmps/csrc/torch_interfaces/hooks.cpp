// What torch.mps, torch.backends.mps and torch.accelerator ask of the device.
#include "torch_interfaces/hooks.h"

#include <ATen/detail/MPSHooksInterface.h>

#include "tensor/allocator.h"
#include "engine/engine.h"
#include "torch_interfaces/event.h"
#include "torch_interfaces/generator.h"
#include "ledger/ledger.h"
#include "mac/mac.h"
#include "memory/simulated_allocator.h"
#include "profiler/profiler.h"
#include "engine/reports.h"

namespace openmps {

namespace {

struct Hooks : at::MPSHooksInterface {
  void init() const override {}
  bool hasMPS() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::Device getDeviceFromPtr(void*) const override { return kMpsDevice; }

  // A fixed ladder, as in ATen/mps/MPSHooks: PyTorch tests for a few releases and rounds the
  // others.
  bool isOnMacOSorNewer(unsigned major, unsigned minor) const override {
    switch (major) {
      case 13:
        return true;
      case 14:
        return minor == 0 || rung(major, minor, 4, minor == 4);
      case 15:
        return minor <= 1 ? macos_at_least(15, minor) : rung(major, minor, 1, false);
      case 26:
        return rung(major, minor, 0, minor == 0);
      default:
        TORCH_WARN("Checking for unexpected MacOS ", major, ".", minor, " returning false");
        return false;
    }
  }

  c10::Allocator* getMPSDeviceAllocator() const override { return mps_allocator(); }
  // A Mac's pinned memory is its device memory; PyTorch then refuses it with its own text.
  c10::Allocator* getPinnedMemoryAllocator() const override { return mps_allocator(); }
  bool isPinnedPtr(const void*) const override { return false; }

  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return default_generator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override {
    return at::make_generator<Generator>();
  }

  void deviceSynchronize() const override {
    ledger::add(ledger::Kind::kSync, "torch.mps.synchronize");
    finish();
  }
  void commitStream() const override {}  // nothing waits to be committed
  void emptyCache() const override { mps_allocator()->emptyCache(); }
  size_t getCurrentAllocatedMemory() const override { return memory::allocated_bytes(); }
  size_t getDriverAllocatedMemory() const override { return memory::driver_bytes(); }
  size_t getRecommendedMaxMemory() const override { return mac().recommended_max_bytes; }
  size_t getMaxBufferLength() const { return mac().max_buffer_bytes; }  // torch 2.11 has none
  void setMemoryFraction(double ratio) const override { memory::set_high_watermark(ratio); }

  void profilerStartTrace(const std::string& mode, bool wait) const override {
    profiler::start_trace(mode, wait);
  }
  void profilerStopTrace() const override { profiler::stop_trace(); }

  uint32_t acquireEvent(bool timing) const override { return events().acquire(timing); }
  void releaseEvent(uint32_t id) const override { events().release(id); }
  void recordEvent(uint32_t id) const override { events().find(id)->record(); }
  void waitForEvent(uint32_t id) const override { events().find(id)->wait(); }
  void synchronizeEvent(uint32_t id) const override {
    ledger::add(ledger::Kind::kSync, "torch.mps.Event.synchronize");
    events().find(id)->synchronize();
  }
  bool queryEvent(uint32_t id) const override {
    const auto event = events().find(id);
    return event->recorded() && event->finished();
  }
  double elapsedTimeOfEvents(uint32_t start, uint32_t end) const override {
    return elapsed_milliseconds(start, end);
  }

 private:
  static EventPool& events() { return EventPool::instance(); }

  static bool rung(unsigned major, unsigned minor, unsigned tested, bool exact) {
    if (!exact) {
      TORCH_WARN("Can't check whether running on ", major, ".", minor, "+ returning one for ",
                 major, ".", tested, "+");
    }
    return macos_at_least(major, tested);
  }
};

}  // namespace

void install_hooks() {
  // PyTorch makes its hooks object once, at the first question about mps, which may long be over.
  // On Linux that object is the base class. It has no members, so our virtual table makes it ours.
  static const Hooks ours;
  auto& live = const_cast<at::MPSHooksInterface&>(at::detail::getMPSHooks());
  static_assert(sizeof(Hooks) == sizeof(at::MPSHooksInterface), "Hooks must not have members");
  *reinterpret_cast<void**>(&live) = *reinterpret_cast<void* const*>(&ours);
}

}  // namespace openmps
