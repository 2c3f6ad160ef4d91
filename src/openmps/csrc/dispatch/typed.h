// The typed counterpart of the boxed kernel, for operators that small models call most: the same
// conversion of arguments and results, resolved at compile time, with nothing put on a stack.
//
//   library.impl("add.Tensor", &OnBacking<at::_ops::add_Tensor>::run);
#pragma once

#include <ATen/core/IListRef.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/boxing/KernelFunction.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensor/allocation_tracker.h"
#include "engine/engine.h"
#include "dispatch/boxed.h"
#include "dispatch/call.h"
#include "dispatch/determinism.h"
#include "tensor/header.h"
#include "profiler/profiler.h"
#include "mac/rules.h"

namespace openmps {

// How one parameter type travels. The general case: unchanged.
template <class T>
struct Parameter {
  T value;
  explicit Parameter(const char*, T v) : value(v) {}
  T pass() { return std::forward<T>(value); }
  void list(profiler::Tensors&) const {}
  const at::Tensor* find(const at::Tensor&) const { return nullptr; }
  const c10::Storage* find_storage(const c10::Storage&) const { return nullptr; }
};

// A tensor: passed as its backing view.
struct TensorParameter {
  const at::Tensor& original;
  BackingView view;

  TensorParameter(const char* op, const at::Tensor& t, bool written)
      : original(t), view(t, written) {
    if (C10_UNLIKELY(!view.is_of_mps())) check(op, written);
  }
  C10_NOINLINE void check(const char* op, bool written) const {
    if (original.defined() && (written || original.dim() != 0)) {
      check_same_device(op, original, written);
    }
  }
  void list(profiler::Tensors& tensors) const { tensors.push_back(&original); }
  const at::Tensor* find(const at::Tensor& result) const {
    return view.is_of_mps() && view.get().is_same(result) ? &original : nullptr;
  }
  const c10::Storage* find_storage(const c10::Storage& storage) const {
    return view.is_of_mps() && view.get().storage().is_alias_of(storage) ? &original.storage()
                                                                         : nullptr;
  }
};

template <>
struct Parameter<const at::Tensor&> : TensorParameter {
  Parameter(const char* op, const at::Tensor& t) : TensorParameter(op, t, false) {}
  const at::Tensor& pass() { return view.get(); }
};

template <>
struct Parameter<at::Tensor&> : TensorParameter {
  Parameter(const char* op, at::Tensor& t) : TensorParameter(op, t, true), written(t) {}
  at::Tensor& pass() { return view.get(); }
  at::Tensor& written;
};

template <>
struct Parameter<const std::optional<at::Tensor>&> {
  std::optional<TensorParameter> tensor;
  std::optional<at::Tensor> passed;
  Parameter(const char* op, const std::optional<at::Tensor>& t) {
    if (t.has_value()) tensor.emplace(op, *t, false);
  }
  const std::optional<at::Tensor>& pass() {
    // Copies one reference; given up again before the view goes back to the pool.
    if (tensor) passed = tensor->view.get();
    return passed;
  }
  ~Parameter() { passed.reset(); }
  void list(profiler::Tensors& tensors) const {
    if (tensor) tensor->list(tensors);
  }
  const at::Tensor* find(const at::Tensor& result) const {
    return tensor ? tensor->find(result) : nullptr;
  }
  const c10::Storage* find_storage(const c10::Storage& storage) const {
    return tensor ? tensor->find_storage(storage) : nullptr;
  }
};

template <>
struct Parameter<const at::ITensorListRef&> {
  c10::SmallVector<at::Tensor, 8> originals;
  c10::SmallVector<at::Tensor, 8> views;
  at::ITensorListRef passed;
  Parameter(const char* op, const at::ITensorListRef& list) {
    for (const at::Tensor& t : list) {
      if (!is_mps(t) && t.defined()) check_same_device(op, t, false);
      originals.push_back(t);
      views.push_back(is_mps(t) ? backing_view(t, /*written=*/false) : t);
    }
    passed = at::ITensorListRef(at::TensorList(views.data(), views.size()));
  }
  ~Parameter() {
    for (size_t i = 0; i < views.size(); ++i) {
      if (is_mps(originals[i])) recycle(std::move(views[i]));
    }
  }
  const at::ITensorListRef& pass() { return passed; }
  void list(profiler::Tensors& tensors) const {
    for (const auto& tensor : originals) tensors.push_back(&tensor);
  }
  const at::Tensor* find(const at::Tensor& result) const {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].is_same(result)) return &originals[i];
    }
    return nullptr;
  }
  const c10::Storage* find_storage(const c10::Storage& storage) const {
    for (size_t i = 0; i < views.size(); ++i) {
      if (views[i].storage().is_alias_of(storage)) return &originals[i].storage();
    }
    return nullptr;
  }
};

// An operator that writes to a list (_foreach_add_) bumps the version of each view; the destructor
// carries that over to the mps tensor.
template <>
struct Parameter<at::TensorList> {
  at::TensorList originals;
  std::vector<at::Tensor> views;
  std::vector<int64_t> versions;
  Parameter(const char* op, at::TensorList list) : originals(list) {
    views.reserve(list.size());
    versions.reserve(list.size());
    for (const at::Tensor& t : list) {
      if (!is_mps(t) && t.defined()) check_same_device(op, t, false);
      views.push_back(is_mps(t) ? backing_view(t) : t);
      versions.push_back(version_of(views.back()));
    }
  }
  Parameter(Parameter&&) = default;
  ~Parameter() {
    for (size_t i = 0; i < views.size(); ++i) {
      if (!is_mps(originals[i])) continue;
      if (version_of(views[i]) != versions[i]) originals[i].unsafeGetTensorImpl()->bump_version();
      recycle(std::move(views[i]));
    }
  }
  at::TensorList pass() { return views; }
  void list(profiler::Tensors& tensors) const {
    for (const auto& tensor : originals) tensors.push_back(&tensor);
  }
  const at::Tensor* find(const at::Tensor&) const { return nullptr; }
  const c10::Storage* find_storage(const c10::Storage&) const { return nullptr; }
};

// "aten::add.Tensor".
template <class Op>
std::string full_name() {
  const std::string overload = Op::overload_name;
  return overload.empty() ? std::string(Op::name) : Op::name + ("." + overload);
}

template <class Op, class Signature = typename Op::schema>
struct OnBacking;

template <class Op, class Result, class... Args>
struct OnBacking<Op, Result(Args...)> {
  static Result run(Args... args) {
    if (must_be_deterministic() || (watched != 0 && ((dtypes_of(args) | ...) & watched) != 0)) {
      return run_boxed(args...);
    }
    try {
      return with(Parameter<Args>(Op::name, args)...);
    } catch (const c10::Error& error) {
      if (!may_repair || engine().is_device_failure(error)) engine().rethrow(error);
      return run_boxed(args...);
    }
  }

  // For arguments about which a Mac has nothing to say.
  static Result run_as_given(Args... args) {
    try {
      return with(Parameter<Args>(Op::name, args)...);
    } catch (const c10::Error& error) {
      engine().rethrow(error);
    }
  }

  // The boxed kernel, which can refuse, widen and keep alerts apart.
  static Result run_boxed(Args... args) {
    static const auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
    return c10::impl::BoxedKernelWrapper<Result(Args...)>::call(
        c10::BoxedKernel::makeFromFunction<&boxed_kernel>(), op, c10::DispatchKeySet(),
        std::forward<Args>(args)...);
  }

  // What the Mac says about this operator; set at activation.
  static inline DtypeMask watched = 0;    // dtypes that need the boxed kernel
  static inline bool may_repair = false;  // whether an error is looked at again, by that kernel

 private:
  static DtypeMask dtypes_of(const at::Tensor& tensor) { return mask_of(tensor); }
  static DtypeMask dtypes_of(const std::optional<at::Tensor>& tensor) {
    return tensor ? mask_of(*tensor) : 0;
  }
  static DtypeMask dtypes_of(at::TensorList tensors) {
    DtypeMask mask = 0;
    for (const at::Tensor& tensor : tensors) mask |= mask_of(tensor);
    return mask;
  }
  static DtypeMask dtypes_of(const at::ITensorListRef& tensors) {
    DtypeMask mask = 0;
    for (const at::Tensor& tensor : tensors) mask |= mask_of(tensor);
    return mask;
  }
  template <class T>
  static DtypeMask dtypes_of(const T&) {
    return 0;
  }

  static void boxed_kernel(const c10::OperatorHandle& handle, torch::jit::Stack* stack) {
    static const auto operator_rules = rules_of_operator(handle.operator_name());
    run_with_rules(handle, operator_rules, stack);
  }

  static Result with(Parameter<Args>&&... parameter) {
    profiler::Scope scope;
    if (profiler::wants(profiler::Kind::kOperation)) watch(scope, parameter...);
    if constexpr (std::is_void_v<Result>) {
      redispatch(parameter...);
    } else if constexpr (std::is_same_v<Result, at::Tensor&>) {
      redispatch(parameter...);
      return written(parameter...);
    } else {
      return to_mps(redispatch(parameter...), parameter...);
    }
  }

  C10_NOINLINE static void watch(profiler::Scope& scope, const Parameter<Args>&... parameter) {
    profiler::Tensors tensors;
    (parameter.list(tensors), ...);
    scope.begin_operation(Op::name, Op::overload_name, tensors);
  }

  static Result redispatch(Parameter<Args>&... parameter) {
    const Tracking tracking;
    return Op::redispatch(backing().keys, parameter.pass()...);
  }

  // The argument that an in-place operator returns.
  template <class First, class... Rest>
  static at::Tensor& written(First& first, Rest&... rest) {
    if constexpr (std::is_same_v<First, Parameter<at::Tensor&>>) {
      return first.written;
    } else {
      return written(rest...);
    }
  }

  template <class... P>
  static at::Tensor to_mps(at::Tensor&& result, const P&... parameters) {
    if (!is_backing(result)) return std::move(result);
    if (C10_LIKELY(is_fresh(result))) {
      relabel_fresh(result);
      return std::move(result);
    }
    const at::Tensor* argument = nullptr;
    ((argument = argument ? argument : parameters.find(result)), ...);
    if (argument) return *argument;
    const c10::Storage* storage = nullptr;
    ((storage = storage ? storage : parameters.find_storage(result.storage())), ...);
    return on_storage(result, storage ? *storage : mps_storage(result.storage()));
  }

  template <class... T, class... P>
  static std::tuple<T...> to_mps(std::tuple<T...>&& results, const P&... parameters) {
    return std::apply(
        [&](T&... result) { return std::tuple<T...>(to_mps(std::move(result), parameters...)...); },
        results);
  }

  template <class... P>
  static std::vector<at::Tensor> to_mps(std::vector<at::Tensor>&& results, const P&... parameters) {
    for (auto& result : results) result = to_mps(std::move(result), parameters...);
    return std::move(results);
  }

  template <class T, class... P>
  static T to_mps(T&& value, const P&...) {
    return std::forward<T>(value);
  }
};

}  // namespace openmps
