// Tensor headers. An mps tensor and its backing view share bytes and differ in the header only:
// device, dispatch keys, and which of the two twin storages they name. This file makes one from
// the other, at the cost of a few dozen nanoseconds: headers for arguments come from a per-thread
// pool, and a fresh result keeps its header and is relabelled in place.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>

#include "engine/engine.h"
#include "tensor/twin.h"

namespace openmps {

inline bool is_mps(const at::Tensor& t) {
  return t.defined() &&
         t.unsafeGetTensorImpl()->key_set().has_backend(c10::BackendComponent::MPSBit);
}

// Of the backing device.
inline bool is_backing(const at::Tensor& t) {
  return t.defined() &&
         (t.unsafeGetTensorImpl()->key_set().raw_repr() & backing().backing_bits) != 0;
}

// Strided and neither nested nor quantized: one storage, one header. Sparse tensors are taken
// apart in sparse.h.
inline bool is_plain(const at::Tensor& t) {
  const auto& impl = *t.unsafeGetTensorImpl();
  return impl.key_set().has(c10::DispatchKey::Dense) && impl.layout() == c10::kStrided;
}

// float32, float16 and bfloat16: every device has all kernels for them, and no Mac refuses them.
inline bool is_common_float(c10::ScalarType type) {
  return type == c10::kFloat || type == c10::kHalf || type == c10::kBFloat16;
}

// A backing tensor over the bytes of one mps tensor. Hand it to `recycle` after the call.
at::Tensor backing_view(const at::Tensor& mps, bool written = true);

// The same over another backing storage, with elements of another type.
at::Tensor backing_view_on(const at::Tensor& mps, c10::Storage storage, c10::ScalarType type);

// A backing tensor with the geometry of any tensor, real or fake, and no bytes: it can be looked at
// and viewed, not read.
at::Tensor shape_only(const at::Tensor& tensor);

// The tensor's version counter; 0 for undefined and inference tensors.
inline int64_t version_of(const at::Tensor& t) {
  if (!t.defined() || t.is_inference()) return 0;
  return static_cast<int64_t>(t.unsafeGetTensorImpl()->version_counter().current_version());
}

// Whether autograd, backward or forward, follows what becomes of this tensor.
inline bool is_recorded(const at::Tensor& t) {
  if (!t.defined()) return false;
  return (at::GradMode::is_enabled() && t.requires_grad()) || t._fw_grad(/*level=*/0).defined();
}

// Takes a header back into the pool, unless a kernel kept it.
void recycle(at::Tensor&& view) noexcept;

// The view for the length of one call of a kernel that never replaces an argument's storage: it
// names the storage without counting as an owner, which saves two atomic operations. The mps tensor
// must outlive it. A tensor of another device passes through as it is.
class BackingView {
 public:
  explicit BackingView(const at::Tensor& tensor, bool written = true);
  BackingView(const BackingView&) = delete;
  BackingView& operator=(const BackingView&) = delete;
  ~BackingView();

  at::Tensor& get() { return view_; }
  const at::Tensor& get() const { return view_; }
  bool is_of_mps() const { return kind_ != Kind::kPassed; }

 private:
  enum class Kind : uint8_t { kPassed, kOwned, kBorrowed };
  static at::Tensor view_of(const at::Tensor& tensor, bool written, Kind* kind);
  static at::Tensor unusual_view_of(const at::Tensor& tensor, bool written);

  Kind kind_;
  at::Tensor view_;
};

// Makes an mps tensor of `result`, a backing tensor that `is_fresh`.
void relabel_fresh(at::Tensor& result);

// An mps tensor with the geometry of `result`, over `storage` (on mps).
at::Tensor on_storage(const at::Tensor& result, const c10::Storage& storage);
// The same, with elements of another type.
at::Tensor on_storage(const at::Tensor& tensor, const c10::Storage& storage, c10::ScalarType type);

// An mps tensor for `result`, a backing tensor that is no argument and no view of one.
at::Tensor new_on_mps(at::Tensor result);

// Whether nobody but `result` can see its header or its bytes.
C10_ALWAYS_INLINE bool is_fresh(const at::Tensor& result) {
  return result.use_count() == 1 && result.unsafeGetTensorImpl()->unsafe_storage().use_count() == 1;
}

}  // namespace openmps
