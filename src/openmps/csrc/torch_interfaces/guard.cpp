// The device guard: which mps device and stream are current. There is one of each, so most answers
// are constant. Same answers as ATen/mps/MPSGuardImpl.h.
#include <c10/core/DeviceCapability.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "engine/engine.h"
#include "torch_interfaces/event.h"
#include "ledger/ledger.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::DeviceType::MPS; }
  DeviceIndex deviceCount() const noexcept override { return 1; }

  Device exchangeDevice(Device) const override { return kMpsDevice; }
  Device getDevice() const override { return kMpsDevice; }
  void setDevice(Device device) const override {
    TORCH_CHECK(device.is_mps(), "Expected a MPS device, but got ", device);
  }
  void uncheckedSetDevice(Device) const noexcept override {}

  Stream getStream(Device) const override { return stream(); }
  Stream getDefaultStream(Device) const override { return stream(); }
  Stream getNewStream(Device, int) const override { return stream(); }
  Stream getStreamFromGlobalPool(Device, bool) const override { return stream(); }
  Stream exchangeStream(Stream) const override { return stream(); }
  bool queryStream(const Stream&) const override { return !g_engine_started || engine().is_idle(); }
  void synchronizeStream(const Stream&) const override {
    ledger::add(ledger::Kind::kSync, "Stream.synchronize");
    finish();
  }
  void synchronizeDevice(const DeviceIndex) const override {
    ledger::add(ledger::Kind::kSync, "torch.accelerator.synchronize");
    finish();
  }

  c10::DeviceCapability getDeviceCapability(Device) const override {
    c10::DeviceCapability capability;
    auto& bits = capability.capability_data.capability_bits;
    bits = 0;
    for (const auto index :
         {c10::kIndex_Byte, c10::kIndex_Char, c10::kIndex_Short, c10::kIndex_Int, c10::kIndex_Long,
          c10::kIndex_Half, c10::kIndex_Float, c10::kIndex_ComplexHalf, c10::kIndex_ComplexFloat,
          c10::kIndex_Bool, c10::kIndex_BFloat16, c10::kIndex_UInt16, c10::kIndex_UInt32,
          c10::kIndex_UInt64}) {
      bits |= uint64_t{1} << index;
    }
    return capability;
  }

  void record(void** event, const Stream&, const DeviceIndex,
              const c10::EventFlag flag) const override {
    if (*event == nullptr) *event = new Event(flag == c10::EventFlag::BACKEND_DEFAULT);
    as_event(*event)->record();
  }
  void block(void* event, const Stream&) const override {
    if (event != nullptr) as_event(event)->wait();
  }
  bool queryEvent(void* event) const override {
    return event == nullptr || as_event(event)->finished();
  }
  void synchronizeEvent(void* event) const override {
    if (event == nullptr) return;
    ledger::add(ledger::Kind::kSync, "Event.synchronize");
    as_event(event)->synchronize();
  }
  double elapsedTime(void* start, void* end, const DeviceIndex) const override {
    return as_event(end)->milliseconds_since(*as_event(start));
  }
  void destroyEvent(void* event, const DeviceIndex) const noexcept override {
    delete as_event(event);
  }

 private:
  static Stream stream() { return Stream(Stream::DEFAULT, kMpsDevice); }
  static Event* as_event(void* event) { return static_cast<Event*>(event); }
};

C10_REGISTER_GUARD_IMPL(MPS, Guard)

}  // namespace
}  // namespace openmps
