#include "twin.h"

#include "accountant.h"
#include "backing.h"

namespace openmps {
namespace {

using c10::StorageImpl;

// Deleter of an mps DataPtr: gives up the mps side's reference to the twin.
void release_twin(void* context) {
  c10::intrusive_ptr<StorageImpl>::reclaim(static_cast<StorageImpl*>(context));
}

c10::DataPtr own_twin(c10::intrusive_ptr<StorageImpl> twin) {
  void* bytes = twin->mutable_data();
  return {bytes, twin.release(), &release_twin, kMpsDevice};
}

c10::intrusive_ptr<StorageImpl> new_storage(size_t bytes, c10::DataPtr data,
                                            c10::Allocator* allocator, bool resizable) {
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                          c10::SymInt(static_cast<int64_t>(bytes)), std::move(data),
                                          allocator, resizable);
}

}  // namespace

c10::DataPtr allocate_with_twin(size_t bytes) {
  return own_twin(
      new_storage(bytes, allocate_counted(bytes), backing_allocator(), /*resizable=*/true));
}

StorageImpl* twin_of(const StorageImpl& mps) noexcept {
  const auto& data = mps.data_ptr();
  if (data.get_deleter() != &release_twin) return nullptr;
  return static_cast<StorageImpl*>(data.get_context());
}

c10::Storage backing_storage(const c10::Storage& mps) {
  if (auto* twin = twin_of(*mps.unsafeGetStorageImpl())) {
    return c10::Storage(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin));
  }
  auto borrowed = c10::DataPtr(
      mps.mutable_data(), new c10::Storage(mps),
      [](void* owner) { delete static_cast<c10::Storage*>(owner); }, backing().device);
  return new_storage(mps.nbytes(), std::move(borrowed), backing_allocator(), /*resizable=*/false);
}

c10::Storage mps_storage(c10::Storage twin) {
  const auto bytes = twin.nbytes();
  count_in(*twin.unsafeGetStorageImpl());
  const bool resizable = twin.resizable();
  auto data = own_twin(c10::intrusive_ptr<StorageImpl>::reclaim(twin.unsafeReleaseStorageImpl()));
  return new_storage(bytes, std::move(data), c10::GetAllocator(c10::kMPS), resizable);
}

void follow_twin(StorageImpl& mps) {
  auto* twin = twin_of(mps);
  if (twin == nullptr || (twin->data() == mps.data() && twin->nbytes() == mps.nbytes())) return;
  mps.set_data_ptr_noswap(own_twin(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin)));
  mps.set_nbytes(twin->nbytes());
  count_in(*twin);  // last: it throws if the bytes do not fit the Mac
}

}  // namespace openmps
