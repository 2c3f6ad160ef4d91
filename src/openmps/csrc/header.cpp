#include "header.h"

#include <c10/core/InferenceMode.h>

#include <vector>

#include "rules.h"

namespace openmps {
namespace {

using c10::DispatchKeySet;
using c10::TensorImpl;

// TensorImpl has no public way to change its device: no PyTorch backend shares bytes with another.
struct Fields : TensorImpl {
  static c10::Storage& storage(TensorImpl& t) { return t.*(&Fields::storage_); }
  static DispatchKeySet& keys(TensorImpl& t) { return t.*(&Fields::key_set_); }
  static void set_device(TensorImpl& t, c10::Device device) { t.*(&Fields::device_opt_) = device; }
  // All but storage, keys and version counter. Cheaper than shallow_copy_from, which copies those
  // three only for us to replace them.
  static void copy_geometry(const TensorImpl& from, TensorImpl& to) {
    copy_generic_tensor_metadata(&from, &to);
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
  HeaderPool() { free.reserve(kMost); }  // so that recycle() cannot throw
  ~HeaderPool();
  std::vector<at::Tensor> free;
};

// Read several times in every call: a bare pointer in the static TLS block costs one load, a
// thread_local object with a constructor two calls.
__attribute__((tls_model("initial-exec"))) thread_local HeaderPool* g_pool = nullptr;

HeaderPool::~HeaderPool() { g_pool = nullptr; }

HeaderPool& make_pool() {
  prepare_thread();
  thread_local HeaderPool pool;  // destroyed with the thread
  g_pool = &pool;
  return pool;
}

// It will stand for tensors that count their versions and for those that do not. What is made in
// inference mode could not count.
at::Tensor new_header() {
  const c10::InferenceMode guard(false);
  return at::detail::make_tensor<TensorImpl>(backing().keys, caffe2::TypeMeta::Make<float>(),
                                             backing().device);
}

at::Tensor take_header() {
  auto& free = (g_pool != nullptr ? *g_pool : make_pool()).free;
  if (free.empty()) return new_header();
  auto header = std::move(free.back());
  free.pop_back();
  return header;
}

// All of a view but its storage.
at::Tensor view_without_storage(const at::Tensor& mps) {
  auto view = take_header();
  auto& impl = *view.unsafeGetTensorImpl();
  const auto& source = *mps.unsafeGetTensorImpl();
  Fields::copy_geometry(source, impl);
  // A tensor made by detach() refuses resizes; the view must refuse them in its place.
  impl.set_allow_tensor_metadata_change(source.allow_tensor_metadata_change());
  label_backing(impl, source.key_set());
  return view;
}

// Whether no kernel kept the header or hung something on it.
bool is_unused(const at::Tensor& view) {
  return view.use_count() == 1 && view.weak_use_count() == 1 &&
         view.unsafeGetTensorImpl()->autograd_meta() == nullptr;
}

void put_back(at::Tensor&& header) noexcept {
  if (g_pool != nullptr && g_pool->free.size() < HeaderPool::kMost) {
    g_pool->free.push_back(std::move(header));
  }
}

}  // namespace

at::Tensor backing_view(const at::Tensor& mps) {
  auto view = view_without_storage(mps);
  Fields::storage(*view.unsafeGetTensorImpl()) =
      backing_storage(mps.unsafeGetTensorImpl()->unsafe_storage());
  return view;
}

BackingView::BackingView(const at::Tensor& tensor) {
  if (!is_mps(tensor)) {
    kind_ = Kind::kPassed;
    view_ = tensor;
    return;
  }
  view_ = view_without_storage(tensor);
  auto& storage = Fields::storage(*view_.unsafeGetTensorImpl());
  const auto& source = tensor.unsafeGetTensorImpl()->unsafe_storage();
  if (auto* twin = twin_of(*source.unsafeGetStorageImpl())) {
    kind_ = Kind::kBorrowed;
    storage = c10::intrusive_ptr<c10::StorageImpl>::reclaim(twin);
  } else {
    kind_ = Kind::kOwned;
    storage = backing_storage(source);
  }
}

BackingView::~BackingView() {
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

at::Tensor relabel_fresh(at::Tensor result) {
  check_precision(result.scalar_type());
  auto& impl = *result.unsafeGetTensorImpl();
  auto& storage = Fields::storage(impl);
  storage = mps_storage(std::move(storage));
  label_mps(impl, impl.key_set());
  return result;
}

at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage) {
  check_precision(result.scalar_type());
  auto tensor = at::detail::make_tensor<TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::MPS),
                                                    result.dtype(), kMpsDevice);
  auto& impl = *tensor.unsafeGetTensorImpl();
  Fields::copy_geometry(*result.unsafeGetTensorImpl(), impl);
  Fields::storage(impl) = storage;
  label_mps(impl, result.key_set());
  // Made in inference mode, but a view of a tensor that was not.
  if (!impl.is_inference() && !impl.version_counter().enabled()) {
    impl.set_version_counter(c10::VariableVersion(0));
  }
  return tensor;
}

}  // namespace openmps
