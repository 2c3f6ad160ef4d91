// On a Mac these are loops over the tensors. Here a whole list goes to the engine's own kernel at
// once, where the loop would say and do the same: the usual dtypes, alike tensors, each of them
// once. Everything else, and whatever somebody watches, is the loop.
#include "operators/foreach.h"

#include <ATen/ops/_foreach_abs_ops.h>
#include <ATen/ops/_foreach_add_ops.h>
#include <ATen/ops/_foreach_addcdiv_ops.h>
#include <ATen/ops/_foreach_addcmul_ops.h>
#include <ATen/ops/_foreach_clamp_max_ops.h>
#include <ATen/ops/_foreach_clamp_min_ops.h>
#include <ATen/ops/_foreach_copy_ops.h>
#include <ATen/ops/_foreach_div_ops.h>
#include <ATen/ops/_foreach_exp_ops.h>
#include <ATen/ops/_foreach_lerp_ops.h>
#include <ATen/ops/_foreach_log_ops.h>
#include <ATen/ops/_foreach_max_ops.h>
#include <ATen/ops/_foreach_maximum_ops.h>
#include <ATen/ops/_foreach_minimum_ops.h>
#include <ATen/ops/_foreach_mul_ops.h>
#include <ATen/ops/_foreach_neg_ops.h>
#include <ATen/ops/_foreach_norm_ops.h>
#include <ATen/ops/_foreach_pow_ops.h>
#include <ATen/ops/_foreach_reciprocal_ops.h>
#include <ATen/ops/_foreach_rsqrt_ops.h>
#include <ATen/ops/_foreach_sign_ops.h>
#include <ATen/ops/_foreach_sqrt_ops.h>
#include <ATen/ops/_foreach_sub_ops.h>
#include <ATen/ops/_foreach_zero_ops.h>

#include <vector>

#include "dispatch/typed.h"

namespace openmps {
namespace {

using at::Tensor;

// Whether no two of the tensors begin at the same place: a loop would compute there twice.
bool are_distinct(at::TensorList tensors) {
  size_t size = 8;
  while (size < 2 * tensors.size()) size *= 2;
  static thread_local std::vector<const void*> seen;
  seen.assign(size, nullptr);
  for (const Tensor& tensor : tensors) {
    const auto* place = static_cast<const char*>(tensor.storage().data()) +
                        tensor.storage_offset() * static_cast<int64_t>(tensor.itemsize());
    if (tensor.numel() == 0) continue;
    constexpr uint64_t kSpread = 0x9E3779B97F4A7C15;
    auto at = (reinterpret_cast<uintptr_t>(place) * kSpread) >> 20U;
    for (;; ++at) {
      const void*& slot = seen[at & (size - 1)];
      if (slot == place) return false;
      if (slot != nullptr) continue;
      slot = place;
      break;
    }
  }
  return true;
}

class Lists {
 public:
  void add(at::TensorList list) {
    if (count_ == 0) first_ = list;
    ++count_;
    fits_ = fits_ && list.size() == first_.size();
    for (size_t i = 0; fits_ && i < list.size(); ++i) {
      const Tensor& tensor = list[i];
      fits_ = is_mps(tensor) && is_plain(tensor) && is_common_float(tensor.scalar_type()) &&
              tensor.scalar_type() == first_[0].scalar_type() &&
              tensor.sizes() == first_[i].sizes() && tensor.strides() == first_[i].strides();
    }
  }
  // A number in a tensor. From the CPU only the loop takes it, on some devices.
  void add(const Tensor& tensor) { fits_ = fits_ && tensor.dim() == 0 && is_mps(tensor); }
  template <class T>
  void add(const T&) {}

  bool fit() const { return fits_ && !first_.empty(); }
  at::TensorList first() const { return first_; }

 private:
  at::TensorList first_;
  size_t count_ = 0;
  bool fits_ = true;
};

template <class Op, class Signature = typename Op::schema>
struct ForEach;

template <class Op, class Result, class... Args>
struct ForEach<Op, Result(Args...)> {
  static Result run(Args... args) {
    Lists lists;
    (lists.add(args), ...);
    const bool at_once = lists.fit() && !profiler::wants(profiler::Kind::kOperation) &&
                         (!std::is_void_v<Result> || are_distinct(lists.first()));
    if (at_once) return OnBacking<Op>::run_as_given(args...);
    // PyTorch's loop, as the dispatcher knows it for a device without kernels of its own.
    return Op::redispatch(c10::DispatchKeySet(c10::DispatchKey::HPU), std::forward<Args>(args)...);
  }
};

template <class... Ops>
void add_lists(Registrar& m) {
  (m.impl(full_name<Ops>(), &ForEach<Ops>::run), ...);
}

}  // namespace

void register_foreach_operators(Registrar& m) {
  using namespace at::_ops;
  add_lists<_foreach_add__Scalar, _foreach_add__List, _foreach_add__ScalarList,
            _foreach_add__Tensor, _foreach_add_Scalar, _foreach_add_List, _foreach_add_ScalarList>(
      m);
  add_lists<_foreach_sub__Scalar, _foreach_sub__List, _foreach_sub__ScalarList, _foreach_sub_Scalar,
            _foreach_sub_List, _foreach_sub_ScalarList>(m);
  add_lists<_foreach_mul__Scalar, _foreach_mul__List, _foreach_mul__ScalarList,
            _foreach_mul__Tensor, _foreach_mul_Scalar, _foreach_mul_List, _foreach_mul_ScalarList,
            _foreach_mul_Tensor>(m);
  add_lists<_foreach_div__Scalar, _foreach_div__List, _foreach_div__ScalarList,
            _foreach_div__Tensor, _foreach_div_Scalar, _foreach_div_List, _foreach_div_ScalarList,
            _foreach_div_Tensor>(m);
  add_lists<_foreach_addcmul__Scalar, _foreach_addcmul__ScalarList, _foreach_addcmul_Scalar>(m);
  add_lists<_foreach_addcdiv__Scalar, _foreach_addcdiv__ScalarList, _foreach_addcdiv_Scalar>(m);
  add_lists<_foreach_lerp__Scalar, _foreach_lerp__List, _foreach_lerp_Scalar>(m);
  add_lists<_foreach_maximum__List, _foreach_maximum__Scalar, _foreach_minimum__List,
            _foreach_minimum__Scalar, _foreach_clamp_max__Scalar, _foreach_clamp_min__Scalar>(m);
  add_lists<_foreach_pow__Scalar, _foreach_pow_Scalar, _foreach_sqrt, _foreach_sqrt_,
            _foreach_rsqrt, _foreach_rsqrt_, _foreach_reciprocal, _foreach_reciprocal_,
            _foreach_neg, _foreach_neg_, _foreach_abs, _foreach_abs_, _foreach_sign, _foreach_sign_,
            _foreach_exp, _foreach_exp_, _foreach_log, _foreach_log_>(m);
  add_lists<_foreach_norm_Scalar, _foreach_max, _foreach_copy_, _foreach_zero_>(m);
}

}  // namespace openmps
