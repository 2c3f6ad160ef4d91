// The allocator that PyTorch asks for mps memory. The bytes come from the backing device's
// allocator.
#include "tensor/allocator.h"

#include "engine/engine.h"
#include "tensor/lazy_bytes.h"
#include "mac/mac.h"
#include "memory/simulated_allocator.h"
#include "engine/reports.h"
#include "tensor/twin.h"

namespace openmps {
namespace {

struct Allocator final : c10::DeviceAllocator {
  Allocator() { g_mps_allocator = this; }

  c10::DataPtr allocate(size_t bytes) override { return allocate_with_twin(bytes); }

  // No raw_deleter: a bare pointer does not say which twin owns it.

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    if (copy_lazy_bytes(destination, source, bytes)) return;
    backing_allocator()->copy_data(destination, source, bytes);
  }

  bool initialized() override { return memory::is_open(); }

  void emptyCache(c10::MempoolId_t) override {
    finish();
    memory::empty_cache();
    engine().empty_cache();
  }

  void recordStream(const c10::DataPtr&, c10::Stream) override {}  // one stream: nothing to track

  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    return memory::statistics();
  }
  void resetAccumulatedStats(c10::DeviceIndex) override { memory::reset_accumulated(); }
  void resetPeakStats(c10::DeviceIndex) override { memory::reset_peak(); }

  // Same rule as ATen/mps/MPSAllocator: (recommended - driver, recommended).
  std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex) override {
    const auto limit = mac().recommended_max_bytes;
    const auto used = memory::driver_bytes();
    return {used < limit ? limit - used : 0, limit};
  }
};

Allocator g_allocator;

}  // namespace

c10::DeviceAllocator* mps_allocator() { return &g_allocator; }

REGISTER_ALLOCATOR(c10::DeviceType::MPS, &g_allocator)

}  // namespace openmps
