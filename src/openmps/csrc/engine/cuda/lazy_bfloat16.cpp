#include "engine/cuda/lazy_bfloat16.h"

#include <ATen/ops/_lazy_clone_native.h>
#include <ATen/ops/copy_ops.h>
#include <c10/core/impl/COW.h>
#include <torch/library.h>

#include <mutex>
#include <typeinfo>
#include <unordered_set>

#include "tensor/allocation_tracker.h"
#include "tensor/allocator.h"
#include "engine/engine.h"
#include "tensor/header.h"
#include "memory/simulated_allocator.h"
#include "tensor/result_storage.h"

#if __has_include(<c10/core/StorageMaterializer.h>)
#define OPENMPS_SETS_MATERIALIZER 1
#endif

namespace openmps {

void ResultStorage::let_go() noexcept {
  auto* context = std::exchange(held, nullptr);
  auto& data = _mutable_data_ptr_no_checks();
  if (data.get_context() == context) data.release_context();
  using Last = c10::impl::cow::COWDeleterContext::LastReference;
  while (!std::holds_alternative<Last>(context->decrement_refcount())) continue;
}

namespace held {

std::atomic<int64_t> g_count{0};

namespace {

using at::Tensor;
using c10::Storage;
using c10::StorageImpl;
using c10::impl::cow::cow_deleter;
using c10::impl::cow::COWDeleterContext;

constexpr auto kImageType = c10::kBFloat16;

// What a storage stands for. Its address is the token.
struct Held {
  Held(Storage stands_for, c10::ScalarType type, Buffer* in_books);
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held();

  Storage image;
  const c10::ScalarType shown;
  bool sealed = false;
  Buffer* entry;  // in the Mac's books

  void leave_books() noexcept {
    if (entry != nullptr) memory::give_back(std::exchange(entry, nullptr));
  }
};

struct Registry {
  std::mutex lock;  // of the tokens
  std::unordered_set<const void*> tokens;
  std::mutex images;  // who reads or replaces the image of a storage that several threads may have
};

Registry& registry() {
  static auto& all = *new Registry();  // outlives the last tensor
  return all;
}

Held::Held(Storage stands_for, c10::ScalarType type, Buffer* in_books)
    : image(std::move(stands_for)), shown(type), entry(in_books) {
  const std::lock_guard guard(registry().lock);
  registry().tokens.insert(this);
  ++g_count;
}

Held::~Held() {
  leave_books();
  const std::lock_guard guard(registry().lock);
  registry().tokens.erase(this);
  --g_count;
}

// What it points at is safe to look at under the lock of images only.
Held* held_by(const StorageImpl& storage) {
  const auto& data = storage.data_ptr();
  if (data.get_deleter() != &cow_deleter || typeid(storage) != typeid(ResultStorage)) {
    return nullptr;
  }
  const bool ours = static_cast<const ResultStorage&>(storage).held == data.get_context();
  return ours ? static_cast<Held*>(const_cast<void*>(data.get())) : nullptr;
}

Held* held_by(const Tensor& tensor) {
  if (!any() || !is_mps(tensor) || !is_plain(tensor)) return nullptr;
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  return storage ? held_by(*storage.unsafeGetStorageImpl()) : nullptr;
}

Held* held_by(const Tensor& tensor, c10::ScalarType shown) {
  auto* held = held_by(tensor);
  const bool as_shown = held != nullptr && held->shown == shown && tensor.scalar_type() == shown;
  return as_shown ? held : nullptr;
}

// A Mac's copy of a part has the bytes of that part, where ours would stand for the whole.
bool is_all_of_its_storage(const Tensor& tensor) {
  return static_cast<size_t>(tensor.numel()) * tensor.itemsize() == tensor.storage().nbytes();
}

// From now on `storage` has no bytes.
void attach(ResultStorage& storage, std::unique_ptr<Held> held) {
  // PyTorch copies while a reference is not the last one, and else takes the token for bytes. It
  // loses one whenever a copy fails for want of memory.
  constexpr int kReferences = 8;
  auto* token = held.release();
  auto* context = new COWDeleterContext({token, [](void* p) { delete static_cast<Held*>(p); }});
  for (int i = 1; i < kReferences; ++i) context->increment_refcount();
  storage.set_data_ptr_noswap({token, context, &cow_deleter, kMpsDevice});
  storage.held = context;
#ifdef OPENMPS_SETS_MATERIALIZER
  storage.set_materializer(&c10::impl::cow::materialize_cow);
#endif
}

Storage new_storage(Storage image, c10::ScalarType shown) {
  const auto bytes = image.nbytes() / c10::elementSize(kImageType) * c10::elementSize(shown);
  auto* entry = memory::take(bytes);
  entry->context = nullptr;  // nothing to free when it is given back
  entry->release = nullptr;
  auto held = std::make_unique<Held>(std::move(image), shown, entry);
  auto storage = c10::make_intrusive<ResultStorage>(
      StorageImpl::use_byte_size_t(), c10::SymInt(static_cast<int64_t>(bytes)),
      c10::DataPtr(nullptr, kMpsDevice), mps_allocator(), /*resizable=*/true);
  attach(*storage, std::move(held));
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
  const Counting not_of_mps(false);
  at::_ops::copy_::redispatch(backing().keys, to, from, /*non_blocking=*/false);
}

Storage copy_of(const Storage& image) {
  const Counting not_of_mps(false);
  auto copy = new_backing_storage(image.nbytes(), backing_allocator()->allocate(image.nbytes()));
  copy_all(flat(copy, kImageType), flat(image, kImageType));
  return copy;
}

// A lazy clone would stand for the same token.
Tensor lazy_clone(const Tensor& self) {
  write(self.storage());
  if (!make_shareable(*self.storage().unsafeGetStorageImpl())) return self.clone();
  return at::native::_lazy_clone(self);
}

TORCH_LIBRARY_IMPL(aten, MPS, m) { m.impl("_lazy_clone", lazy_clone); }

}  // namespace

bool is_held(const Tensor& tensor, c10::ScalarType shown) {
  if (held_by(tensor) == nullptr) return false;
  const std::lock_guard guard(registry().images);
  return held_by(tensor, shown) != nullptr;
}

Tensor image(const Tensor& tensor, c10::ScalarType shown) {
  if (held_by(tensor) == nullptr) return {};
  const std::lock_guard guard(registry().images);
  const auto* held = held_by(tensor, shown);
  return held == nullptr ? Tensor() : backing_view_on(tensor, held->image, kImageType);
}

Tensor own_image(const Tensor& tensor, c10::ScalarType shown) {
  if (held_by(tensor) == nullptr) return {};
  const std::lock_guard guard(registry().images);
  auto* held = held_by(tensor, shown);
  if (held == nullptr) return {};
  if (held->image.use_count() != 1) held->image = copy_of(held->image);
  return backing_view_on(tensor, held->image, kImageType);
}

bool hold(const Tensor& tensor) {
  const std::lock_guard guard(registry().images);
  if (auto* held = held_by(tensor, kImageType)) {
    held->sealed = false;
    return true;
  }
  if (!is_mps(tensor) || !is_plain(tensor) || tensor.scalar_type() != kImageType) return false;
  const auto& storage = tensor.unsafeGetTensorImpl()->unsafe_storage();
  auto* impl = storage.unsafeGetStorageImpl();
  if (impl == nullptr || typeid(*impl) != typeid(ResultStorage) || impl->nbytes() == 0) {
    return false;
  }
  auto* twin = twin_of(*impl);
  if (twin == nullptr || !is_all_of_its_storage(tensor)) return false;
  Storage image(c10::intrusive_ptr<StorageImpl>::reclaim_copy(twin));
  auto* entry = take_entry(*twin);
  auto& result = static_cast<ResultStorage&>(*impl);
  if (result.held != nullptr) result.let_go();  // of the time before it got these bytes
  attach(result, std::make_unique<Held>(std::move(image), kImageType, entry));
  return true;
}

void seal(const Tensor& tensor) {
  const std::lock_guard guard(registry().images);
  if (auto* held = held_by(tensor, kImageType)) held->sealed = true;
}

bool can_be_shown(const Tensor& tensor) {
  if (held_by(tensor) == nullptr) return false;
  const std::lock_guard guard(registry().images);
  const auto* held = held_by(tensor, tensor.scalar_type());
  return held != nullptr && !held->sealed;
}

Tensor shown_as(const Tensor& tensor, c10::ScalarType to) {
  if (held_by(tensor) == nullptr || !is_all_of_its_storage(tensor)) return {};
  Storage image;
  {
    const std::lock_guard guard(registry().images);
    const auto* held = held_by(tensor, tensor.scalar_type());
    if (held == nullptr || held->sealed) return {};
    image = held->image;
  }
  return on_storage(tensor, new_storage(std::move(image), to), to);
}

Tensor new_float(const Tensor& result) {
  return on_storage(result, new_storage(result.storage(), c10::kFloat), c10::kFloat);
}

void write(const Storage& mps) {
  auto& storage = *mps.unsafeGetStorageImpl();
  if (held_by(storage) == nullptr) return;
  const std::lock_guard guard(registry().images);
  auto* held = held_by(storage);
  if (held == nullptr) return;  // another thread was first
  const auto size = storage.nbytes();
  auto* entry = std::exchange(held->entry, nullptr);
  auto bytes =
      with_twin(entry == nullptr ? allocate_counted(size) : allocate_behind(entry, size), size);
  write_copy(bytes.get(), held, size);
  static_cast<ResultStorage&>(storage).let_go();
  storage.set_data_ptr_noswap(std::move(bytes));
#ifdef OPENMPS_SETS_MATERIALIZER
  storage.clear_materializer();
#endif
}

bool write_copy(void* destination, const void* token, size_t bytes) {
  if (!any()) return false;
  {
    const std::lock_guard guard(registry().lock);
    if (registry().tokens.count(token) == 0) return false;
  }
  auto& held = *static_cast<Held*>(const_cast<void*>(token));
  auto target = new_backing_storage(bytes, c10::DataPtr(destination, backing().device));
  copy_all(flat(std::move(target), held.shown), flat(held.image, kImageType));
  held.leave_books();
  held.image = Storage();
  return true;
}

}  // namespace held
}  // namespace openmps
