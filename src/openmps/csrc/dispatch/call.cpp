#include "dispatch/call.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string_view>
#include <unordered_set>

#include "engine/engine.h"
#include "tensor/lazy_bytes.h"
#include "tensor/sparse.h"
#include "tensor/write_watch.h"

namespace openmps {
namespace {

// Operators that PyTorch's own device rules allow to see CPU tensors with dimensions: indices are
// moved by the operator, lengths must be on the CPU.
const std::unordered_set<std::string_view> kTakesCpuTensors = {
    "aten::index",
    "aten::index_put",
    "aten::index_put_",
    "aten::_index_put_impl_",
    "aten::_unsafe_index",
    "aten::_unsafe_index_put",
    "aten::_ctc_loss",
    "aten::_ctc_loss_backward",
    "aten::_pack_padded_sequence",
    "aten::_pack_padded_sequence_backward",
    "aten::_nested_from_padded",
    "aten::is_set_to",
    "aten::_nested_view_from_buffer",
};

// A learning rate may be a number in a CPU tensor of any shape.
bool is_learning_rate(const std::string& op, const at::Tensor& other) {
  return other.is_cpu() && other.numel() == 1 &&
         (op == "aten::_fused_adam_" || op == "aten::_fused_adamw_" || op == "aten::_fused_sgd_");
}

bool is_twin(const c10::Storage& mps, const c10::Storage& backing) {
  return twin_of(*mps.unsafeGetStorageImpl()) == backing.unsafeGetStorageImpl();
}

bool same_geometry(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.strides() == b.strides() &&
         a.storage_offset() == b.storage_offset();
}

// Those operators see all their tensors before they start, and say which devices they found. The
// others only notice, when they bind a tensor, that it has no Metal buffer.
bool names_devices(const std::string& op) {
  if (op == "aten::dot" || op == "aten::vdot") return true;
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getAllOpNames()) {
    if (name.name == op && dispatcher.findOp(name)->hasTag(at::Tag::pointwise)) return true;
  }
  return false;
}

bool has_bytes_for_its_shape(const at::Tensor& t) {
  return at::detail::computeStorageNbytes(t.sizes(), t.strides(), t.itemsize(),
                                          t.storage_offset()) <= t.storage().nbytes();
}

}  // namespace

void check_same_device(const std::string& op, const at::Tensor& other, bool written) {
  if (!written && other.dim() == 0) return;
  if (kTakesCpuTensors.count(op) != 0 || op.rfind("c10d::", 0) == 0) return;
  if (!written && is_learning_rate(op, other)) return;
  TORCH_CHECK(!names_devices(op),
              "Expected all tensors to be on the same device, but found at least two devices, ",
              kMpsDevice, " and ", other.device(), "!");
  TORCH_CHECK(false, "Placeholder storage has not been allocated on MPS device!");
}

Call::~Call() {
  try {
    settle_all(/*failed=*/true);
  } catch (...) {  // an operator's own exception is on its way; it says more
  }
  for (auto& argument : arguments_) {
    if (is_plain(argument.mps)) recycle(std::move(argument.backing));
  }
}

at::Tensor Call::to_backing(const at::Tensor& argument, bool written) {
  if (!argument.defined()) return argument;
  if (!is_mps(argument)) {
    // What an index indexes comes first: an mps index into a CPU tensor is a mistake.
    TORCH_CHECK(!arguments_.empty() || argument.dim() == 0 || op_.rfind("aten::index", 0) != 0,
                "indices should be either on cpu or on the same device as the indexed tensor (",
                argument.device(), ")");
    check_same_device(op_, argument, written);
    return engine().takes_cpu_scalars(op_) ? argument : argument.to(backing().device);
  }
  if (auto* known = find(argument)) {
    if (written && argument.has_storage()) {
      about_to_write(*argument.storage().unsafeGetStorageImpl());
    }
    known->written |= written;
    return known->backing;
  }
  return add(argument, written);
}

// Kernels ask whether `out` is `self`.
Call::Argument* Call::find(const at::Tensor& argument) {
  for (auto& known : arguments_) {
    if (known.mps.is_same(argument)) return &known;
  }
  return nullptr;
}

const at::Tensor& Call::add(at::Tensor argument, bool written) {
  if (arguments_.empty()) elements_ = argument.numel();
  at::Tensor view;
  if (is_plain(argument)) {
    if (!written) view = lazy_source(argument);
    if (!view.defined()) view = backing_view(argument, written);
    const auto& storage = argument.unsafeGetTensorImpl()->unsafe_storage();
    if (!is_twin(storage, view.unsafeGetTensorImpl()->unsafe_storage())) {
      storages_.push_back({storage, view.storage()});
    }
  } else {
    // Some kernels write through a result's parts and resize them, others put new ones in.
    view =
        convert_sparse(argument, [&](const at::Tensor& part) { return to_backing(part, written); });
  }
  arguments_.push_back({std::move(argument), std::move(view), written, std::nullopt});
  return arguments_.back().backing;
}

c10::Storage Call::storage_to_backing(const c10::Storage& mps) {
  if (mps.device() != kMpsDevice) return mps;
  storages_.push_back({mps, backing_storage(mps)});
  return storages_.back().backing;
}

c10::Storage Call::storage_to_mps(const c10::Storage& backing) {
  for (const auto& pair : storages_) {
    if (pair.backing.is_alias_of(backing)) return pair.mps;
  }
  for (const auto& argument : arguments_) {
    if (is_plain(argument.mps) && is_twin(argument.mps.storage(), backing)) {
      return argument.mps.storage();
    }
  }
  storages_.push_back({mps_storage(backing), backing});
  return storages_.back().mps;
}

at::Tensor Call::to_mps(at::Tensor result) {
  if (!is_backing(result)) return result;
  const bool plain = is_plain(result);
  if (plain && is_fresh(result)) {
    relabel_fresh(result);
    return result;
  }
  for (const auto& argument : arguments_) {
    if (argument.backing.is_same(result)) return argument.mps;
  }
  if (!plain) {
    return convert_sparse(result, [this](const at::Tensor& part) { return to_mps(part); });
  }
  return on_storage(result, storage_to_mps(result.storage()));
}

void Call::to_backing(c10::IValue& argument, bool written) {
  if (argument.isTensor()) {
    const at::Tensor& tensor = argument.toTensor();
    if (is_mps(tensor) && find(tensor) == nullptr) {
      argument = add(std::move(argument).toTensor(), written);
    } else {
      argument = to_backing(tensor, written);
    }
  } else if (argument.isTensorList()) {
    // A model's worth of parameters may stand here: no search for repeats, which would be
    // quadratic.
    c10::List<at::Tensor> views;
    views.reserve(argument.toTensorList().size());
    for (const at::Tensor& tensor : argument.toTensorVector()) {
      views.push_back(is_mps(tensor) ? add(tensor, written) : to_backing(tensor, written));
      if (is_mps(tensor)) arguments_.back().version = version_of(arguments_.back().backing);
    }
    argument = std::move(views);
  } else if (argument.isList()) {
    // Lists of optional tensors and lists of lists; lists of numbers have nothing to convert.
    auto list = argument.toList();
    const auto kind = list.elementType()->kind();
    if (kind == c10::TypeKind::OptionalType || kind == c10::TypeKind::ListType) {
      c10::impl::GenericList converted(list.elementType());
      for (c10::IValue element : list) {
        to_backing(element, written);
        converted.push_back(std::move(element));
      }
      argument = std::move(converted);
    }
  } else if (argument.isDevice()) {
    if (argument.toDevice().is_mps()) argument = backing().device;
  } else if (argument.isStorage()) {
    argument = storage_to_backing(argument.toStorage());
  }
}

void Call::to_mps(c10::IValue& result) {
  if (result.isTensor()) {
    result = to_mps(std::move(result).toTensor());
  } else if (result.isTensorList()) {
    c10::List<at::Tensor> tensors;
    for (const at::Tensor& tensor : result.toTensorVector()) tensors.push_back(to_mps(tensor));
    result = std::move(tensors);
  } else if (result.isList() && result.toList().elementType()->kind() == c10::TypeKind::ListType) {
    auto list = result.toList();
    c10::impl::GenericList converted(list.elementType());
    for (c10::IValue element : list) {
      to_mps(element);
      converted.push_back(std::move(element));
    }
    result = std::move(converted);
  }
}

void Call::settle_all(bool failed) {
  if (settled_) return;
  settled_ = true;
  for (const auto& argument : arguments_) {
    if (argument.written) settle(argument, failed);
  }
}

void Call::settle(const Argument& argument, bool failed) {
  if (!is_plain(argument.mps)) {
    settle_sparse(argument.mps, argument.backing,
                  [this](const at::Tensor& part) { return to_mps(part); });
    return;
  }
  auto& impl = *argument.mps.unsafeGetTensorImpl();
  if (argument.version && version_of(argument.backing) != *argument.version) impl.bump_version();
  // Most keep their storage, and need no search.
  const bool kept = is_twin(impl.unsafe_storage(), argument.backing.storage());
  const auto storage = kept ? impl.unsafe_storage() : storage_to_mps(argument.backing.storage());
  if (!storage.is_alias_of(impl.unsafe_storage())) impl.set_storage_keep_dtype(storage);
  follow_twin(*storage.unsafeGetStorageImpl());
  if (failed && !has_bytes_for_its_shape(argument.backing)) return;
  if (!same_geometry(argument.mps, argument.backing)) {
    impl.set_sizes_and_strides(argument.backing.sizes(), argument.backing.strides(),
                               argument.backing.storage_offset());
  }
}

std::vector<std::optional<at::Tensor>> optional_tensors(const c10::IValue& list) {
  std::vector<std::optional<at::Tensor>> tensors;
  for (const c10::IValue& element : list.toListRef()) {
    if (element.isTensor()) {
      tensors.emplace_back(element.toTensor());
    } else {
      tensors.emplace_back(std::nullopt);
    }
  }
  return tensors;
}

}  // namespace openmps
