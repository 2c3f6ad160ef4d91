#include "tensor/twin.h"

#include <array>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "tensor/allocation_tracker.h"
#include "engine/engine.h"
#include "memory/fast_thread_local.h"
#include "tensor/lazy_bytes.h"
#include "tensor/write_watch.h"
#include "tensor/result_storage.h"

namespace openmps {

const LazyBytes* g_lazy_bytes = nullptr;
c10::Allocator* g_mps_allocator = nullptr;

namespace {

using c10::StorageImpl;

// Deleter of an mps DataPtr: gives up the mps side's reference to the twin.
[[gnu::hot]] void release_twin(void* context) {
  c10::intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(context));
}

c10::DataPtr own_twin(c10::intrusive_ptr<StorageImpl> twin) {
  void* bytes = twin->mutable_data();
  return {bytes, twin.release(), &release_twin, kMpsDevice};
}

// The twins of storages that lazy clones have shared: their DataPtrs name an address, no twin.
struct Shareable {
  std::mutex lock;
  std::unordered_map<const void*, StorageImpl*> twins;
};

Shareable& shareable() {
  static auto& all = *new Shareable();  // outlives the last tensor
  return all;
}

void release_by_address(void* address) {
  StorageImpl* twin = nullptr;
  {
    const std::lock_guard guard(shareable().lock);
    const auto found = shareable().twins.extract(address);
    if (found) twin = found.mapped();
  }
  if (twin != nullptr) release_twin(twin);
}

C10_NOINLINE StorageImpl* twin_by_address(const c10::DataPtr& data) noexcept {
  if (data.get_deleter() != &release_by_address) return nullptr;
  const std::lock_guard guard(shareable().lock);
  const auto found = shareable().twins.find(data.get());
  return found == shareable().twins.end() ? nullptr : found->second;
}

c10::intrusive_ptr<StorageImpl> new_storage(size_t bytes, c10::DataPtr data,
                                            c10::Allocator* allocator, bool resizable) {
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                          c10::SymInt(static_cast<int64_t>(bytes)), std::move(data),
                                          allocator, resizable);
}

// Memory of storages that are gone, for those to come: every operator has a result. Of one thread.
struct KeptMemory {
#ifdef __SANITIZE_ADDRESS__
  static constexpr size_t kMost = 0;  // so that a use after the end is found
#else
  static constexpr size_t kMost = 64;
#endif
  size_t count = 0;
  std::array<void*, kMost> memory;

  ~KeptMemory();
};

// A bare pointer in the static TLS block, as in header.cpp.
OPENMPS_FAST_THREAD_LOCAL KeptMemory* g_kept = nullptr;
OPENMPS_FAST_THREAD_LOCAL bool g_thread_ends = false;

KeptMemory::~KeptMemory() {
  g_kept = nullptr;
  g_thread_ends = true;
  while (count > 0) ::operator delete(memory[--count]);
}

C10_NOINLINE void* new_memory(size_t bytes) {
  if (g_kept == nullptr && !g_thread_ends) {
    thread_local const auto kept = std::make_unique<KeptMemory>();
    g_kept = kept.get();
  }
  return ::operator new(bytes);
}

}  // namespace

void ResultStorage::drop_lazy() noexcept {
  auto* context = std::exchange(lazy, nullptr);
  auto& data = _mutable_data_ptr_no_checks();
  if (data.get_context() == context) data.release_context();
  using Last = c10::impl::cow::COWDeleterContext::LastReference;
  while (!std::holds_alternative<Last>(context->decrement_refcount())) continue;
}

void* ResultStorage::operator new(size_t bytes) {
  auto* kept = g_kept;
  if (kept == nullptr || kept->count == 0) return new_memory(bytes);
  return kept->memory[--kept->count];
}

void ResultStorage::operator delete(void* memory) noexcept {
  auto* kept = g_kept;
  if (kept == nullptr || kept->count == KeptMemory::kMost) return ::operator delete(memory);
  kept->memory[kept->count++] = memory;
}

c10::DataPtr allocate_with_twin(size_t bytes) { return with_twin(allocate_tracked(bytes), bytes); }

c10::DataPtr with_twin(c10::DataPtr backing, size_t bytes) {
  return own_twin(new_storage(bytes, std::move(backing), backing_allocator(), /*resizable=*/true));
}

StorageImpl* twin_of(const StorageImpl& mps) noexcept {
  const auto& data = mps.data_ptr();
  if (data.get_deleter() != &release_twin) return twin_by_address(data);
  return static_cast<StorageImpl*>(data.get_context());
}

bool make_shareable(StorageImpl& mps) {
  auto& data = mps._mutable_data_ptr_no_checks();
  if (data.get_deleter() != &release_twin) return true;  // PyTorch looks at it
  if (data.get() == nullptr) {                           // no bytes: nothing for a twin to own
    data = c10::DataPtr(nullptr, kMpsDevice);
    return true;
  }
  {
    const std::lock_guard guard(shareable().lock);
    auto* twin = static_cast<StorageImpl*>(data.get_context());
    if (!shareable().twins.emplace(data.get(), twin).second) return false;
  }
  data.release_context();
  data = c10::DataPtr(data.get(), data.get(), &release_by_address, kMpsDevice);
  return true;
}

c10::Storage backing_storage(const c10::Storage& mps, bool written) {
  if (written) about_to_write(*mps.unsafeGetStorageImpl());
  write_lazy_bytes(mps);
  auto* twin = twin_of(*mps.unsafeGetStorageImpl());
  void* bytes = nullptr;
  if (twin == nullptr && !written) {
    bytes = const_cast<void*>(mps.data());
  } else if (twin == nullptr) {
    bytes = mps.mutable_data();  // a lazy clone gets bytes of its own, and a twin
    twin = twin_of(*mps.unsafeGetStorageImpl());
  }
  if (twin != nullptr) return c10::Storage(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin));
  auto borrowed = c10::DataPtr(
      bytes, new c10::Storage(mps), [](void* owner) { delete static_cast<c10::Storage*>(owner); },
      backing().device);
  return new_storage(mps.nbytes(), std::move(borrowed), backing_allocator(), /*resizable=*/false);
}

void give_own_bytes(const c10::Storage& mps) {
  about_to_write(*mps.unsafeGetStorageImpl());
  write_lazy_bytes(mps);
  const bool is_shared = twin_of(*mps.unsafeGetStorageImpl()) == nullptr;
  if (is_shared && mps.nbytes() != 0) mps.mutable_data();
}

c10::Storage mps_storage(c10::Storage twin) {
  make_twin(twin);
  return twin;
}

[[gnu::hot]] void make_twin(c10::Storage& backing) {
  auto& twin = *backing.unsafeGetStorageImpl();
  track(twin);
  auto* bytes = twin.mutable_data();
  auto mps = c10::make_intrusive<ResultStorage>(
      StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(twin.nbytes())),
      c10::DataPtr(bytes, &twin, &release_twin, kMpsDevice), g_mps_allocator, twin.resizable());
  backing.unsafeReleaseStorageImpl();  // the reference is the mps storage's
  backing = c10::Storage(c10::intrusive_ptr<StorageImpl>(std::move(mps)));
}

void follow_twin(StorageImpl& mps) {
  auto* twin = twin_of(mps);
  if (twin == nullptr || (twin->data() == mps.data() && twin->nbytes() == mps.nbytes())) return;
  about_to_write(mps);
  mps.set_data_ptr_noswap(own_twin(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin)));
  mps.set_nbytes(twin->nbytes());
  track(*twin);  // last: it throws if the bytes do not fit the Mac
}

}  // namespace openmps
