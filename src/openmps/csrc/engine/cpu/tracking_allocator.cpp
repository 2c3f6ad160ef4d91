#include "engine/cpu/tracking_allocator.h"

#include <c10/core/CPUAllocator.h>

#include "engine/cpu/guarded_memory.h"
#include "tensor/allocation_tracker.h"

namespace openmps {
namespace {

c10::Allocator* g_behind = nullptr;

// Large buffers begin far from all other memory, unless the program has an allocator of its own.
c10::DataPtr allocate_from(c10::Allocator* allocator, size_t bytes) {
  if (bytes >= guarded_memory::kLarge && allocator == c10::GetDefaultCPUAllocator()) {
    if (auto guarded = guarded_memory::take(bytes)) return guarded;
  }
  return allocator->allocate(bytes);
}

struct TrackingAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t bytes) override {
    if (!g_tracking || bytes == 0) return g_behind->allocate(bytes);
    return track_by_address(bytes, [&] { return allocate_from(g_behind, bytes); });
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return g_behind->raw_deleter() == nullptr ? nullptr : &release_address;
  }

  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return is_tracked(data) ? data.get() == data.get_context() : g_behind->is_simple_data_ptr(data);
  }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    g_behind->copy_data(destination, source, bytes);
  }
};

TrackingAllocator* tracking_allocator() {
  static auto* allocator = new TrackingAllocator();  // never destroyed: it outlives the last tensor
  return allocator;
}

}  // namespace

void install_tracking_allocator() {
  if (g_behind != nullptr) return;
  g_behind = c10::GetAllocator(c10::kCPU);
  g_free_untracked = [](void* address) { g_behind->raw_deleter()(address); };
  auto* tracking = tracking_allocator();
  // The lowest priority, so that the program may still set an allocator of its own; unless it has
  // set one with a higher.
  constexpr uint8_t kHighest = 255;
  c10::SetAllocator(c10::kCPU, tracking);
  if (c10::GetAllocator(c10::kCPU) != tracking) {
    c10::SetAllocator(c10::kCPU, tracking, kHighest);
  }
}

c10::DataPtr allocate_on_cpu(size_t bytes) {
  auto* allocator = c10::GetAllocator(c10::kCPU);
  return allocate_from(allocator == tracking_allocator() ? g_behind : allocator, bytes);
}

}  // namespace openmps
