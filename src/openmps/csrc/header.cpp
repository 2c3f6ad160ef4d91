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
  static void set_device(TensorImpl& t, c10::Device device) {
    t.*(&Fields::device_opt_) = device;
  }
};

void label_backing(TensorImpl& t) {
  auto& keys = Fields::keys(t);
  keys = DispatchKeySet(DispatchKeySet::RAW,
                        (keys.raw_repr() & ~backing().mps_bits) | backing().backing_bits);
  Fields::set_device(t, backing().device);
}

void label_mps(TensorImpl& t) {
  auto& keys = Fields::keys(t);
  keys = DispatchKeySet(DispatchKeySet::RAW,
                        (keys.raw_repr() & ~backing().foreign_bits) | backing().mps_bits);
  Fields::set_device(t, kMpsDevice);
}

struct HeaderPool {
  static constexpr size_t kMost = 64;
  HeaderPool() { free.reserve(kMost); }  // so that recycle() cannot throw
  std::vector<at::Tensor> free;
};

thread_local HeaderPool g_pool;

at::Tensor take_header() {
  auto& free = g_pool.free;
  if (!free.empty()) {
    auto header = std::move(free.back());
    free.pop_back();
    return header;
  }
  return at::detail::make_tensor<TensorImpl>(
      backing().keys, caffe2::TypeMeta::Make<float>(), backing().device);
}

}  // namespace

at::Tensor backing_view(const at::Tensor& mps) {
  auto view = take_header();
  auto& impl = *view.unsafeGetTensorImpl();
  const auto& source = *mps.unsafeGetTensorImpl();
  impl.shallow_copy_from(mps.getIntrusivePtr());
  // A tensor made by detach() refuses resizes; the view must refuse them in its place.
  impl.set_allow_tensor_metadata_change(source.allow_tensor_metadata_change());
  Fields::storage(impl) = backing_storage(source.unsafe_storage());
  label_backing(impl);
  return view;
}

void recycle(at::Tensor&& view) noexcept {
  // A kernel that kept the header, or hung something on it, keeps it for good.
  if (view.use_count() != 1 || view.weak_use_count() != 1) return;
  auto& impl = *view.unsafeGetTensorImpl();
  auto& free = g_pool.free;
  if (impl.autograd_meta() != nullptr || free.size() >= HeaderPool::kMost) return;
  Fields::storage(impl) = c10::Storage();
  free.push_back(std::move(view));
}

at::Tensor relabel_fresh(at::Tensor result) {
  auto& impl = *result.unsafeGetTensorImpl();
  auto& storage = Fields::storage(impl);
  storage = mps_storage(std::move(storage));
  label_mps(impl);
  return result;
}

at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage) {
  auto tensor = at::detail::make_tensor<TensorImpl>(c10::DispatchKeySet(c10::DispatchKey::MPS),
                                                    result.dtype(), kMpsDevice);
  auto& impl = *tensor.unsafeGetTensorImpl();
  impl.shallow_copy_from(result.getIntrusivePtr());
  Fields::storage(impl) = storage;
  label_mps(impl);
  return tensor;
}

}  // namespace openmps
