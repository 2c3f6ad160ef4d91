#include "engine/cuda/lazy_bfloat16.h"

#include <ATen/ops/copy_ops.h>
#include <c10/core/impl/COW.h>

#include <mutex>
#include <typeinfo>
#include <unordered_set>

#include "engine/engine.h"
#include "memory/simulated_allocator.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"
#include "tensor/lazy_bytes.h"
#include "tensor/result_storage.h"

#if __has_include(<c10/core/StorageMaterializer.h>)
#define OPENMPS_SETS_MATERIALIZER 1
#endif

namespace openmps::lazy {

std::atomic<int64_t> g_count{0};

namespace {

using at::Tensor;
using c10::Storage;
using c10::StorageImpl;
using c10::impl::cow::cow_deleter;
using c10::impl::cow::COWDeleterContext;

constexpr auto kSourceType = c10::kBFloat16;

// What a storage stands for. Its address is the token.
struct LazyStorage {
  LazyStorage(Storage stands_for, c10::ScalarType type, Buffer* in_pools);
  LazyStorage(const LazyStorage&) = delete;
  LazyStorage& operator=(const LazyStorage&) = delete;
  ~LazyStorage();

  Storage source;
  const c10::ScalarType viewed;
  bool frozen = false;
  Buffer* buffer;  // in the simulated allocator

  void leave_pools() noexcept {
    if (buffer != nullptr) memory::give_back(std::exchange(buffer, nullptr));
  }
};

struct Registry {
  std::mutex lock;  // of the tokens
  std::unordered_set<const void*> tokens;
  std::mutex
      sources;  // who reads or replaces the source of a storage that several threads may have
};

Registry& registry() {
  static auto& all = *new Registry();  // outlives the last tensor
  return all;
}

LazyStorage::LazyStorage(Storage stands_for, c10::ScalarType type, Buffer* in_pools)
    : source(std::move(stands_for)), viewed(type), buffer(in_pools) {
  const std::lock_guard guard(registry().lock);
  registry().tokens.insert(this);
  ++g_count;
}

LazyStorage::~LazyStorage() {
  leave_pools();
  const std::lock_guard guard(registry().lock);
  registry().tokens.erase(this);
  --g_count;
}

// What it points at is safe to look at under the lock of sources only.
LazyStorage* lazy_of(const StorageImpl& storage) {
  const auto& data = storage.data_ptr();
  if (data.get_deleter() != &cow_deleter || typeid(storage) != typeid(ResultStorage)) {
    return nullptr;
  }
  const bool ours = static_cast<const ResultStorage&>(storage).lazy == data.get_context();
  return ours ? static_cast<LazyStorage*>(const_cast<void*>(data.get())) : nullptr;
}

LazyStorage* lazy_of(const Tensor& tensor) {
  if (!exist() || !is_mps(tensor) || !is_plain(tensor)) return nullptr;
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  return storage ? lazy_of(*storage.unsafeGetStorageImpl()) : nullptr;
}

LazyStorage* lazy_of(const Tensor& tensor, c10::ScalarType viewed) {
  auto* found = lazy_of(tensor);
  const bool as_viewed =
      found != nullptr && found->viewed == viewed && tensor.scalar_type() == viewed;
  return as_viewed ? found : nullptr;
}

// A Mac's copy of a part has the bytes of that part, where ours would stand for the whole.
bool is_all_of_its_storage(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.itemsize() == tensor.storage().nbytes();
}

// From now on `storage` has no bytes.
void attach(ResultStorage& storage, std::unique_ptr<LazyStorage> lazy) {
  // PyTorch copies while a reference is not the last one, and else takes the token for bytes. It
  // loses one whenever a copy fails for want of memory.
  constexpr int kReferences = 8;
  auto* token = lazy.release();
  auto* context =
      new COWDeleterContext({token, [](void* p) { delete static_cast<LazyStorage*>(p); }});
  for (int i = 1; i < kReferences; ++i) context->increment_refcount();
  storage.set_data_ptr_noswap({token, context, &cow_deleter, kMpsDevice});
  storage.lazy = context;
#ifdef OPENMPS_SETS_MATERIALIZER
  storage.set_materializer(&c10::impl::cow::materialize_cow);
#endif
}

Storage new_storage(Storage source, c10::ScalarType viewed) {
  const auto bytes = source.nbytes() / c10::elementSize(kSourceType) * c10::elementSize(viewed);
  auto* buffer = memory::take(bytes);
  buffer->context = nullptr;  // nothing to free when it is given back
  buffer->release = nullptr;
  auto lazy = std::make_unique<LazyStorage>(std::move(source), viewed, buffer);
  auto storage = c10::make_intrusive<ResultStorage>(
      StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(bytes)),
      c10::DataPtr(nullptr, kMpsDevice), g_mps_allocator, /*resizable=*/true);
  attach(*storage, std::move(lazy));
  return c10::intrusive_ptr<StorageImpl>(std::move(storage));
}

Storage new_backing_storage(size_t bytes, c10::DataPtr data) {
  return c10::make_intrusive<StorageImpl>(StorageImpl::use_byte_size_t(),
                                          c10::SymInt(static_cast<int64_t>(bytes)), std::move(data),
                                          backing_allocator(), /*resizable=*/false);
}

// All elements of a backing storage, in a row.
Tensor flat(Storage storage, c10::ScalarType type) {
  const auto count = static_cast<int64_t>(storage.nbytes() / c10::elementSize(type));
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(std::move(storage), backing().keys,
                                                         c10::scalarTypeToTypeMeta(type));
  tensor.unsafeGetTensorImpl()->set_sizes_contiguous({count});
  return tensor;
}

void copy_all(Tensor to, const Tensor& from) {
  const Tracking untracked(false);
  at::_ops::copy_::redispatch(backing().keys, to, from, /*non_blocking=*/false);
}

Storage copy_of(const Storage& source) {
  const Tracking untracked(false);
  auto copy = new_backing_storage(source.nbytes(), backing_allocator()->allocate(source.nbytes()));
  copy_all(flat(copy, kSourceType), flat(source, kSourceType));
  return copy;
}

void write(const Storage& mps);
bool copy(void* destination, const void* token, size_t bytes);

Tensor source_of_same_dtype(const Tensor& tensor) { return source(tensor, kSourceType); }

}  // namespace

bool is_viewed_as(const Tensor& tensor, c10::ScalarType viewed) {
  if (lazy_of(tensor) == nullptr) return false;
  const std::lock_guard guard(registry().sources);
  return lazy_of(tensor, viewed) != nullptr;
}

Tensor source(const Tensor& tensor, c10::ScalarType viewed) {
  if (lazy_of(tensor) == nullptr) return {};
  const std::lock_guard guard(registry().sources);
  const auto* found = lazy_of(tensor, viewed);
  return found == nullptr ? Tensor() : backing_view_on(tensor, found->source, kSourceType);
}

Tensor own_source(const Tensor& tensor, c10::ScalarType viewed) {
  if (lazy_of(tensor) == nullptr) return {};
  const std::lock_guard guard(registry().sources);
  auto* found = lazy_of(tensor, viewed);
  if (found == nullptr) return {};
  if (found->source.use_count() != 1) found->source = copy_of(found->source);
  return backing_view_on(tensor, found->source, kSourceType);
}

bool make_lazy(const Tensor& tensor) {
  const std::lock_guard guard(registry().sources);
  if (auto* found = lazy_of(tensor, kSourceType)) {
    found->frozen = false;
    return true;
  }
  if (!is_mps(tensor) || !is_plain(tensor) || tensor.scalar_type() != kSourceType) return false;
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  auto* impl = storage.unsafeGetStorageImpl();
  if (impl == nullptr || typeid(*impl) != typeid(ResultStorage) || impl->nbytes() == 0) {
    return false;
  }
  auto* twin = twin_of(*impl);
  if (twin == nullptr || !is_all_of_its_storage(tensor)) return false;
  Storage source(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin));
  auto* buffer = take_buffer(*twin);
  auto& result = static_cast<ResultStorage&>(*impl);
  if (result.lazy != nullptr) result.drop_lazy();  // of the time before it got these bytes
  attach(result, std::make_unique<LazyStorage>(std::move(source), kSourceType, buffer));
  return true;
}

void freeze(const Tensor& tensor) {
  const std::lock_guard guard(registry().sources);
  if (auto* found = lazy_of(tensor, kSourceType)) found->frozen = true;
}

bool can_be_viewed(const Tensor& tensor) {
  if (lazy_of(tensor) == nullptr) return false;
  const std::lock_guard guard(registry().sources);
  const auto* found = lazy_of(tensor, tensor.scalar_type());
  return found != nullptr && !found->frozen;
}

Tensor view_as(const Tensor& tensor, c10::ScalarType to) {
  if (lazy_of(tensor) == nullptr || !is_all_of_its_storage(tensor)) return {};
  Storage source;
  {
    const std::lock_guard guard(registry().sources);
    const auto* found = lazy_of(tensor, tensor.scalar_type());
    if (found == nullptr || found->frozen) return {};
    source = found->source;
  }
  return on_storage(tensor, new_storage(std::move(source), to), to);
}

Tensor new_float(const Tensor& result) {
  return on_storage(result, new_storage(result.storage(), c10::kFloat), c10::kFloat);
}

namespace {

void write(const Storage& mps) {
  auto& storage = *mps.unsafeGetStorageImpl();
  if (lazy_of(storage) == nullptr) return;
  const std::lock_guard guard(registry().sources);
  auto* found = lazy_of(storage);
  if (found == nullptr) return;  // another thread was first
  const auto size = storage.nbytes();
  auto* buffer = std::exchange(found->buffer, nullptr);
  auto bytes =
      with_twin(buffer == nullptr ? allocate_tracked(size) : allocate_for(buffer, size), size);
  copy(bytes.get(), found, size);
  static_cast<ResultStorage&>(storage).drop_lazy();
  storage.set_data_ptr_noswap(std::move(bytes));
#ifdef OPENMPS_SETS_MATERIALIZER
  storage.clear_materializer();
#endif
}

bool copy(void* destination, const void* token, size_t bytes) {
  if (!exist()) return false;
  {
    const std::lock_guard guard(registry().lock);
    if (registry().tokens.count(token) == 0) return false;
  }
  auto& found = *static_cast<LazyStorage*>(const_cast<void*>(token));
  auto target = new_backing_storage(bytes, c10::DataPtr(destination, backing().device));
  copy_all(flat(std::move(target), found.viewed), flat(found.source, kSourceType));
  found.leave_pools();
  found.source = Storage();
  return true;
}

}  // namespace

void switch_on() {
  static const LazyBytes lazy_bytes = {&exist, &write, &source_of_same_dtype, &copy};
  g_lazy_bytes = &lazy_bytes;
}

}  // namespace openmps::lazy
