#include "header.h"

#include <vector>

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
  static constexpr size_t kMost = 64;
  HeaderPool() { free.reserve(kMost); }  // so that recycle() cannot throw
  ~HeaderPool();
  std::vector<at::Tensor> free;
};

// Read several times in every call: a bare pointer in the static TLS block costs one load, a
// thread_local object with a constructor two calls.
__attribute__((tls_model("initial-exec"))) thread_local HeaderPool* g_pool = nullptr;

HeaderPool::~HeaderPool() { g_pool = nullptr; }

HeaderPool& make_pool() {
  thread_local HeaderPool pool;  // destroyed with the thread
  g_pool = &pool;
  return pool;
}

at::Tensor new_header() {
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

}  // namespace

at::Tensor backing_view(const at::Tensor& mps) {
  auto view = take_header();
  auto& impl = *view.unsafeGetTensorImpl();
  const auto& source = *mps.unsafeGetTensorImpl();
  Fields::copy_geometry(source, impl);
  // A tensor made by detach() refuses resizes; the view must refuse them in its place.
  impl.set_allow_tensor_metadata_change(source.allow_tensor_metadata_change());
  Fields::storage(impl) = backing_storage(source.unsafe_storage());
  label_backing(impl, source.key_set());
  return view;
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
  // A kernel that kept the header, or hung something on it, keeps it for good.
  if (view.use_count() != 1 || view.weak_use_count() != 1) return;
  auto& impl = *view.unsafeGetTensorImpl();
  if (impl.autograd_meta() != nullptr || g_pool == nullptr) return;
  auto& free = g_pool->free;
  if (free.size() >= HeaderPool::kMost) return;
  Fields::storage(impl) = c10::Storage();
  free.push_back(std::move(view));
}

at::Tensor relabel_fresh(at::Tensor result) {
  auto& impl = *result.unsafeGetTensorImpl();
  auto& storage = Fields::storage(impl);
  storage = mps_storage(std::move(storage));
  label_mps(impl, impl.key_set());
  return result;
}

at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage) {
  auto tensor = at::detail::make_tensor<TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::MPS),
                                                    result.dtype(), kMpsDevice);
  auto& impl = *tensor.unsafeGetTensorImpl();
  Fields::copy_geometry(*result.unsafeGetTensorImpl(), impl);
  Fields::storage(impl) = storage;
  label_mps(impl, result.key_set());
  return tensor;
}

}  // namespace openmps
