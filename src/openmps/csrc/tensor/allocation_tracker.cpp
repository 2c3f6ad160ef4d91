#include "tensor/allocation_tracker.h"

#include <c10/core/impl/COWDeleter.h>
#include <c10/util/Exception.h>

#include "engine/engine.h"
#include "memory/simulated_allocator.h"

namespace openmps {

void (*g_free_untracked)(void* address) = nullptr;

namespace {

using c10::DataPtr;

void free_bytes(const memory::Bytes& bytes) {
  if (bytes.context != nullptr) bytes.release(bytes.context);
}

[[gnu::hot]] void release_buffer(void* buffer) {
  free_bytes(memory::give_back(static_cast<Buffer*>(buffer)));
}

void put_behind(Buffer* buffer, DataPtr data) {
  buffer->release = data.get_deleter();
  buffer->context = data.release_context();
}

// What `give` gives, for a buffer that is entered; takes it out again if there is nothing.
DataPtr take_bytes(size_t bytes, Buffer* buffer, c10::function_ref<DataPtr()> give) {
  const Tracking off(false);
  try {
    return give();
  } catch (const c10::Error& error) {
    memory::give_back(buffer);
    engine().throw_out_of_memory(error, bytes);
  } catch (...) {
    memory::give_back(buffer);
    throw;
  }
}

}  // namespace

// Also a raw deleter: oneDNN's scratch memory comes as a bare address, and may have been taken
// outside of any mps operator.
void release_address(void* address) {
  memory::Bytes bytes;
  if (memory::give_back_address(address, &bytes)) {
    free_bytes(bytes);
  } else {
    g_free_untracked(address);
  }
}

bool is_tracked(const DataPtr& data) {
  return data.get_deleter() == &release_buffer || data.get_deleter() == &release_address;
}

DataPtr track_by_address(size_t bytes, c10::function_ref<DataPtr()> give) {
  auto* buffer = memory::take(bytes);
  auto data = take_bytes(bytes, buffer, give);
  void* address = data.get();
  const auto device = data.device();
  put_behind(buffer, std::move(data));
  memory::remember_address(address, buffer);
  return {address, address, &release_address, device};
}

DataPtr allocate_tracked(size_t bytes) {
  ensure_engine_started();
  if (bytes == 0) return backing_allocator()->allocate(0);
  return allocate_for(memory::take(bytes), bytes);
}

DataPtr allocate_for(Buffer* buffer, size_t bytes) {
  auto data = take_bytes(bytes, buffer, [&] { return engine().allocate(bytes); });
  void* address = data.get();
  const auto device = data.device();
  put_behind(buffer, std::move(data));
  return {address, buffer, &release_buffer, device};
}

[[gnu::hot]] void track(c10::StorageImpl& backing) {
  if (C10_UNLIKELY(!g_counts_results)) return;
  const auto& data = backing.data_ptr();
  if (is_tracked(data) || data.get() == nullptr || backing.nbytes() == 0) return;
  if (data.get_deleter() == &c10::impl::cow::cow_deleter) return;  // its first owner's bytes
  auto* buffer = memory::take(backing.nbytes());
  auto& bytes = backing._mutable_data_ptr_no_checks();  // the same bytes, with another owner
  void* address = bytes.get();
  put_behind(buffer, std::move(bytes));
  bytes = DataPtr(address, buffer, &release_buffer, bytes.device());
}

DataPtr replace_bytes(c10::StorageImpl& backing, DataPtr bytes) {
  auto* buffer = take_buffer(backing);
  auto& data = backing._mutable_data_ptr_no_checks();
  auto before = std::move(data);
  data = std::move(bytes);
  if (buffer == nullptr) return before;
  auto* address = data.get();
  const auto device = data.device();
  put_behind(buffer, std::move(data));
  data = DataPtr(address, buffer, &release_buffer, device);
  return before;
}

Buffer* take_buffer(c10::StorageImpl& backing) noexcept {
  auto& data = backing._mutable_data_ptr_no_checks();
  if (!is_tracked(data)) return nullptr;
  auto* buffer = data.get_deleter() == &release_buffer ? static_cast<Buffer*>(data.get_context())
                                                       : memory::forget_address(data.get());
  if (buffer == nullptr) return nullptr;
  void* address = data.get();
  const auto device = data.device();
  data.release_context();
  data = DataPtr(address, std::exchange(buffer->context, nullptr),
                 std::exchange(buffer->release, nullptr), device);
  return buffer;
}

}  // namespace openmps
