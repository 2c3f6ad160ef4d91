#include "tensor/allocation_tracker.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/impl/COWDeleter.h>
#include <c10/util/Exception.h>

#include "engine/engine.h"
#include "engine/cuda/errors.h"
#include "engine/cpu/guarded_memory.h"
#include "memory/simulated_allocator.h"

namespace openmps {
namespace {

using c10::DataPtr;

c10::Allocator* g_behind = nullptr;  // the CPU's allocator that the accountant stands in front of

void free_bytes(const memory::Bytes& bytes) {
  if (bytes.context != nullptr) bytes.release(bytes.context);
}

[[gnu::hot]] void release_buffer(void* buffer) {
  free_bytes(memory::give_back(static_cast<Buffer*>(buffer)));
}

// Also the CPU allocator's raw deleter: oneDNN's scratch memory comes as a bare address, and may
// have been taken outside of any mps operator.
void release_address(void* address) {
  memory::Bytes bytes;
  if (memory::give_back_address(address, &bytes)) {
    free_bytes(bytes);
  } else {
    g_behind->raw_deleter()(address);
  }
}

void put_behind(Buffer* buffer, DataPtr data) {
  buffer->release = data.get_deleter();
  buffer->context = data.release_context();
}

bool is_counted(const DataPtr& data) {
  return data.get_deleter() == &release_buffer || data.get_deleter() == &release_address;
}

// Who gives the bytes, where the accountant stands in front.
c10::Allocator* allocator_behind(c10::Allocator* allocator);

// The bytes for a buffer that is in the books; takes it out again if there are none.
DataPtr take_bytes(c10::Allocator* allocator, size_t bytes, Buffer* buffer) {
  const Counting passes_through(false);
  try {
    // Not where the program has an allocator of its own.
    if (bytes >= isolated::kLarge && allocator_behind(allocator) == c10::GetDefaultCPUAllocator()) {
      if (auto isolated = isolated::take(bytes)) return isolated;
    }
    return allocator->allocate(bytes);
  } catch (const c10::Error& error) {
    memory::give_back(buffer);
    if (!backing().is_cpu()) rethrow_as_mps(error);
    memory::machine_has_no_more(bytes, error.what_without_backtrace());
  } catch (...) {
    memory::give_back(buffer);
    throw;
  }
}

struct Accountant final : c10::Allocator {
  DataPtr allocate(size_t bytes) override {
    if (!g_counting || bytes == 0) return g_behind->allocate(bytes);
    auto* buffer = memory::take(bytes);
    auto data = take_bytes(g_behind, bytes, buffer);
    void* address = data.get();
    const auto device = data.device();
    put_behind(buffer, std::move(data));
    memory::remember_address(address, buffer);
    // The address as context: some callers keep nothing else (raw_allocate).
    return {address, address, &release_address, device};
  }

  c10::DeleterFnPtr raw_deleter() const override {
    return g_behind->raw_deleter() == nullptr ? nullptr : &release_address;
  }

  bool is_simple_data_ptr(const DataPtr& data) const override {
    return is_counted(data) ? data.get() == data.get_context() : g_behind->is_simple_data_ptr(data);
  }

  void copy_data(void* destination, const void* source, std::size_t bytes) const override {
    g_behind->copy_data(destination, source, bytes);
  }
};

Accountant* the_accountant() {
  static auto* accountant = new Accountant();  // never destroyed: it outlives the last tensor
  return accountant;
}

c10::Allocator* allocator_behind(c10::Allocator* allocator) {
  return allocator == the_accountant() ? g_behind : allocator;
}

}  // namespace

void install_accountant() {
  if (g_behind != nullptr) return;
  g_behind = c10::GetAllocator(c10::kCPU);
  auto* accountant = the_accountant();
  // The lowest priority, so that the program may still set an allocator of its own; unless it has
  // set one with a higher.
  constexpr uint8_t kHighest = 255;
  c10::SetAllocator(c10::kCPU, accountant);
  if (c10::GetAllocator(c10::kCPU) != accountant) {
    c10::SetAllocator(c10::kCPU, accountant, kHighest);
  }
}

DataPtr allocate_counted(size_t bytes) {
  ensure_backing_started();
  if (bytes == 0) return backing_allocator()->allocate(0);
  return allocate_behind(memory::take(bytes), bytes);
}

DataPtr allocate_behind(Buffer* entry, size_t bytes) {
  auto data = take_bytes(backing_allocator(), bytes, entry);
  void* address = data.get();
  const auto device = data.device();
  put_behind(entry, std::move(data));
  return {address, entry, &release_buffer, device};
}

[[gnu::hot]] void count_in(c10::StorageImpl& backing) {
  const auto& data = backing.data_ptr();
  if (is_counted(data) || data.get() == nullptr || backing.nbytes() == 0) return;
  if (data.get_deleter() == &c10::impl::cow::cow_deleter) return;  // its first owner's bytes
  auto* buffer = memory::take(backing.nbytes());
  auto& bytes = backing._mutable_data_ptr_no_checks();  // the same bytes, with another owner
  void* address = bytes.get();
  put_behind(buffer, std::move(bytes));
  bytes = DataPtr(address, buffer, &release_buffer, bytes.device());
}

DataPtr replace_bytes(c10::StorageImpl& backing, DataPtr bytes) {
  auto* entry = take_entry(backing);
  auto& data = backing._mutable_data_ptr_no_checks();
  auto before = std::move(data);
  data = std::move(bytes);
  if (entry == nullptr) return before;
  auto* address = data.get();
  const auto device = data.device();
  put_behind(entry, std::move(data));
  data = DataPtr(address, entry, &release_buffer, device);
  return before;
}

Buffer* take_entry(c10::StorageImpl& backing) noexcept {
  auto& data = backing._mutable_data_ptr_no_checks();
  if (!is_counted(data)) return nullptr;
  auto* entry = data.get_deleter() == &release_buffer ? static_cast<Buffer*>(data.get_context())
                                                      : memory::forget_address(data.get());
  if (entry == nullptr) return nullptr;
  void* address = data.get();
  const auto device = data.device();
  data.release_context();
  data = DataPtr(address, std::exchange(entry->context, nullptr),
                 std::exchange(entry->release, nullptr), device);
  return entry;
}

}  // namespace openmps
