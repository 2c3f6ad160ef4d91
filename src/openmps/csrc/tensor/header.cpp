#include "tensor/header.h"

#include <c10/core/InferenceMode.h>

#include <array>
#include <cstring>
#include <memory>

#include "memory/fast_thread_local.h"
#include "tensor/lazy_bytes.h"
#include "tensor/write_watch.h"
#include "mac/rules.h"

namespace openmps {
namespace {

using c10::DispatchKeySet;
using c10::TensorImpl;

// TensorImpl has no public way to change its device: no PyTorch backend shares bytes with another.
struct Fields : TensorImpl {
  static c10::Storage& storage(TensorImpl& t) { return t.*(&Fields::storage_); }
  static DispatchKeySet& keys(TensorImpl& t) { return t.*(&Fields::key_set_); }
  static void set_device(TensorImpl& t, c10::Device device) { t.*(&Fields::device_opt_) = device; }
  static void set_bytes(TensorImpl& t, c10::Storage storage, c10::ScalarType type) {
    t.*(&Fields::storage_) = std::move(storage);
    t.*(&Fields::data_type_) = c10::scalarTypeToTypeMeta(type);
  }

  // All but storage, keys and version counter. Cheaper than shallow_copy_from, which copies those
  // three only for us to replace them.
  static void copy_geometry(const TensorImpl& from, TensorImpl& to) {
    copy_generic_tensor_metadata(&from, &to);
  }

  // The same and allow_tensor_metadata_change(), for most tensors in a fourth of the time: offset,
  // number, dtype, device and flags lie side by side, and are copied as they lie. What has further
  // keys may be of a class that asks others about its sizes.
  static C10_ALWAYS_INLINE void copy_geometry_and_permission(const TensorImpl& from,
                                                             TensorImpl& to) {
    const bool plain =
        layout_matches(from) && (from.key_set().raw_repr() & ~backing().plain_bits) == 0 &&
        (from.*(&Fields::extra_meta_)) == nullptr && (to.*(&Fields::extra_meta_)) == nullptr;
    if (C10_UNLIKELY(!plain)) return copy_one_by_one(from, to);
    to.*(&Fields::sizes_and_strides_) = from.*(&Fields::sizes_and_strides_);
    std::memcpy(static_cast<void*>(&(to.*(&Fields::storage_offset_))),
                &(from.*(&Fields::storage_offset_)), kFieldBytes);
  }

 private:
  static constexpr std::ptrdiff_t kFieldBytes =
      24;  // flags in the last bytes; no room for a pointer

  [[gnu::cold]] static void copy_one_by_one(const TensorImpl& from, TensorImpl& to) {
    copy_geometry(from, to);
    to.set_allow_tensor_metadata_change(from.allow_tensor_metadata_change());
  }

  // Known to the compiler; false would be a torch that has arranged them in another way.
  static bool layout_matches(const TensorImpl& t) {
    const auto* begin = reinterpret_cast<const char*>(&(t.*(&Fields::storage_offset_)));
    const auto place = [begin](const auto& field) {
      return reinterpret_cast<const char*>(&field) - begin;
    };
    return place(t.*(&Fields::key_set_)) == kFieldBytes &&
           place(t.*(&Fields::numel_)) == sizeof(int64_t) &&
           place(t.*(&Fields::data_type_)) == 2 * sizeof(int64_t) &&
           place(t.*(&Fields::device_opt_)) == 2 * sizeof(int64_t) + sizeof(caffe2::TypeMeta);
  }
};

// `keys` are those of the tensor on the other side.
void label_backing(TensorImpl& t, DispatchKeySet keys) {
  Fields::keys(t) = DispatchKeySet(
      DispatchKeySet::RAW, (keys.raw_repr() & ~backing().mps_bits) | backing().backing_bits);
  Fields::set_device(t, backing().device);
}

void label_mps(TensorImpl& t, DispatchKeySet keys) {
  Fields::keys(t) = DispatchKeySet(
      DispatchKeySet::RAW, (keys.raw_repr() & ~backing().foreign_bits) | backing().mps_bits);
  Fields::set_device(t, kMpsDevice);
}

// Unused headers of one thread.
struct HeaderPool {
  static constexpr size_t kMost = 1024;  // a fused optimizer step takes several for each parameter
  ~HeaderPool();
  size_t count = 0;
  std::array<at::Tensor, kMost> free;  // undefined from `count` on
};

// Read several times in every call: a bare pointer in the static TLS block costs one load, a
// thread_local object with a constructor two calls.
OPENMPS_FAST_THREAD_LOCAL HeaderPool* g_pool = nullptr;

HeaderPool::~HeaderPool() { g_pool = nullptr; }

void make_pool() {
  engine().prepare_thread();
  thread_local const auto pool = std::make_unique<HeaderPool>();  // destroyed with the thread
  g_pool = pool.get();
}

// It will stand for tensors that count their versions and for those that do not. What is made in
// inference mode could not count.
at::Tensor new_header() {
  const c10::InferenceMode guard(false);
  return at::detail::make_tensor<TensorImpl>(backing().keys, caffe2::TypeMeta::Make<float>(),
                                             backing().device);
}

[[gnu::cold]] C10_NOINLINE at::Tensor one_more_header() {
  if (g_pool == nullptr) make_pool();
  return new_header();
}

C10_ALWAYS_INLINE at::Tensor take_header() {
  auto* pool = g_pool;
  if (C10_UNLIKELY(pool == nullptr || pool->count == 0)) return one_more_header();
  return std::move(pool->free[--pool->count]);
}

// All of a view but its storage.
C10_ALWAYS_INLINE at::Tensor view_without_storage(const at::Tensor& mps) {
  auto view = take_header();
  auto& impl = *view.unsafeGetTensorImpl();
  const auto& source = *mps.unsafeGetTensorImpl();
  // A tensor made by detach() refuses resizes; the view must refuse them in its place.
  Fields::copy_geometry_and_permission(source, impl);
  label_backing(impl, source.key_set());
  return view;
}

// Whether no kernel kept the header or hung something on it.
C10_ALWAYS_INLINE bool is_unused(const at::Tensor& view) {
  return view.use_count() == 1 && view.weak_use_count() == 1 &&
         view.unsafeGetTensorImpl()->autograd_meta() == nullptr;
}

C10_ALWAYS_INLINE void put_back(at::Tensor&& header) noexcept {
  auto* pool = g_pool;
  if (C10_UNLIKELY(pool == nullptr || pool->count == HeaderPool::kMost)) return;
  pool->free[pool->count++] = std::move(header);
}

}  // namespace

at::Tensor backing_view(const at::Tensor& mps, bool written) {
  auto view = view_without_storage(mps);
  Fields::storage(*view.unsafeGetTensorImpl()) =
      backing_storage(mps.unsafeGetTensorImpl()->unsafe_storage(), written);
  return view;
}

at::Tensor backing_view_on(const at::Tensor& mps, c10::Storage storage, c10::ScalarType type) {
  auto view = view_without_storage(mps);
  Fields::set_bytes(*view.unsafeGetTensorImpl(), std::move(storage), type);
  return view;
}

// Of a tensor whose bytes came from elsewhere, or that has none (lazy_bytes.h).
[[gnu::cold]] C10_NOINLINE at::Tensor BackingView::unusual_view_of(const at::Tensor& tensor,
                                                                   bool written) {
  auto source = written ? at::Tensor() : lazy_source(tensor);
  return source.defined() ? source : backing_view(tensor, written);
}

C10_ALWAYS_INLINE at::Tensor BackingView::view_of(const at::Tensor& tensor, bool written,
                                                  Kind* kind) {
  *kind = Kind::kPassed;
  if (!is_mps(tensor)) return tensor;
  const auto& source = tensor.unsafeGetTensorImpl()->unsafe_storage();
  if (written) about_to_write(*source.unsafeGetStorageImpl());
  auto* twin = twin_of(*source.unsafeGetStorageImpl());
  *kind = twin == nullptr ? Kind::kOwned : Kind::kBorrowed;
  if (C10_UNLIKELY(twin == nullptr)) return unusual_view_of(tensor, written);
  auto view = view_without_storage(tensor);
  Fields::storage(*view.unsafeGetTensorImpl()) =
      c10::intrusive_ptr<c10::StorageImpl>::reclaim(twin);
  return view;
}

[[gnu::hot]] BackingView::BackingView(const at::Tensor& tensor, bool written)
    : view_(view_of(tensor, written, &kind_)) {}

[[gnu::hot]] BackingView::~BackingView() {
  if (kind_ == Kind::kPassed) return;
  if (kind_ == Kind::kOwned) {
    recycle(std::move(view_));
    return;
  }
  auto& storage = Fields::storage(*view_.unsafeGetTensorImpl());
  if (is_unused(view_)) {
    storage.unsafeReleaseStorageImpl();
    put_back(std::move(view_));
  } else {
    // A kernel kept the view: from now on it owns its storage.
    c10::raw::intrusive_ptr::incref(storage.unsafeGetStorageImpl());
  }
}

at::Tensor shape_only(const at::Tensor& tensor) {
  auto header = new_header();
  auto& impl = *header.unsafeGetTensorImpl();
  Fields::copy_geometry(*tensor.unsafeGetTensorImpl(), impl);
  Fields::set_device(impl, backing().device);
  constexpr int64_t kAnySize = int64_t{1} << 62;  // views check their bounds against this
  Fields::storage(impl) = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), c10::SymInt(kAnySize),
      c10::DataPtr(nullptr, backing().device), /*allocator=*/nullptr, /*resizable=*/false);
  return header;
}

void recycle(at::Tensor&& view) noexcept {
  if (!is_unused(view)) return;
  Fields::storage(*view.unsafeGetTensorImpl()) = c10::Storage();
  put_back(std::move(view));
}

[[gnu::hot]] void relabel_fresh(at::Tensor& result) {
  check_precision(result.scalar_type());
  auto& impl = *result.unsafeGetTensorImpl();
  make_twin(Fields::storage(impl));
  label_mps(impl, impl.key_set());
}

at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage) {
  return on_storage(result, storage, result.scalar_type());
}

at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage, c10::ScalarType type) {
  check_precision(type);
  auto tensor = at::detail::make_tensor<TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::MPS),
                                                    result.dtype(), kMpsDevice);
  auto& impl = *tensor.unsafeGetTensorImpl();
  Fields::copy_geometry(*result.unsafeGetTensorImpl(), impl);
  Fields::set_bytes(impl, storage, type);
  label_mps(impl, result.key_set());
  // Made in inference mode, but a view of a tensor that was not.
  if (!impl.is_inference() && !impl.version_counter().enabled()) {
    impl.set_version_counter(c10::VariableVersion(0));
  }
  return tensor;
}

at::Tensor new_on_mps(at::Tensor result) {
  if (!result.defined()) return result;
  if (!is_fresh(result)) return on_storage(result, mps_storage(result.storage()));
  relabel_fresh(result);
  return result;
}

}  // namespace openmps
