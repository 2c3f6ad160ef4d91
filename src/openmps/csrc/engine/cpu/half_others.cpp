#include "engine/cpu/half_others.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/argmax_ops.h>
#include <ATen/ops/argmin_ops.h>
#include <ATen/ops/col2im_ops.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/linalg_vector_norm_ops.h>
#include <ATen/ops/native_group_norm_backward_ops.h>
#include <ATen/ops/native_group_norm_ops.h>
#include <ATen/ops/norm_ops.h>
#include <ATen/ops/pow_ops.h>

#include <algorithm>
#include <unordered_map>

#include "dispatch/typed.h"
#include "engine/cpu/half_support.h"
#include "tensor/allocation_tracker.h"

namespace openmps::half {
namespace {

using at::Tensor;
using torch::jit::Stack;

// With every tensor as float32, and results rounded to what the tensors were.
template <class Op>
bool in_float32(Stack* stack, size_t first) {
  static const auto op =
      c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
  const auto type = stack->at(first).toTensor().scalar_type();
  if (!is_half(type)) return false;
  const Tracking untracked(false);
  Stack wide;
  for (size_t i = first; i < stack->size(); ++i) {
    const auto& name = op.schema().arguments()[i - first].name();
    const auto& value = stack->at(i);
    if (name == "dtype" && !value.isNone()) return false;
    if (!value.isTensor()) {
      wide.push_back(value);
      continue;
    }
    const auto& tensor = value.toTensor();
    if (!is_usual(tensor, type)) return false;
    wide.emplace_back(widened(tensor));
  }
  op.redispatchBoxed(backing().keys, &wide);
  stack->resize(first);
  for (auto& value : wide) {
    auto result = std::move(value).toTensor();
    if (!result.defined()) {  // a gradient that nobody wants
      stack->emplace_back(std::move(result));
      continue;
    }
    const bool is_number = result.scalar_type() == c10::kFloat;
    stack->emplace_back(is_number ? narrowed(result, type) : new_on_mps(std::move(result)));
  }
  return true;
}

// Piece by piece: a power reads and writes once.
bool power(Stack* stack, size_t first) {
  constexpr int64_t kPiece = int64_t{1} << 15;
  const auto self = stack->at(first).toTensor();
  const auto exponent = stack->at(first + 1).toScalar();
  const auto type = self.scalar_type();
  if (type != c10::kHalf || !is_usual(self, type) || exponent.isComplex()) return false;
  if (!self.is_non_overlapping_and_dense()) return false;
  const auto result = at::empty_like(self);
  {
    const Tracking untracked(false);
    const BackingView from(self, /*written=*/false);
    const BackingView to(result);
    const auto count = self.numel();
    const auto x = from.get().as_strided({count}, {1});
    const auto y = to.get().as_strided({count}, {1});
    for (int64_t i = 0; i < count; i += kPiece) {
      const auto some = std::min(kPiece, count - i);
      y.narrow(0, i, some)
          .copy_(at::_ops::pow_Tensor_Scalar::redispatch(
              backing().keys, x.narrow(0, i, some).to(c10::kFloat), exponent));
    }
  }
  stack->resize(first);
  stack->emplace_back(result);
  return true;
}

template <class Op>
std::pair<const std::string, Engine::HalfKernel> through_float32() {
  return {full_name<Op>(), &in_float32<Op>};
}

}  // namespace

Engine::HalfKernel other_kernel(const std::string& op) {
  static const std::unordered_map<std::string, Engine::HalfKernel> kernels = {
      through_float32<at::_ops::argmax>(),
      through_float32<at::_ops::argmin>(),
      through_float32<at::_ops::linalg_vector_norm>(),
      through_float32<at::_ops::norm_ScalarOpt_dim>(),
      through_float32<at::_ops::col2im>(),
      through_float32<at::_ops::native_group_norm>(),
      through_float32<at::_ops::native_group_norm_backward>(),
      {full_name<at::_ops::pow_Tensor_Scalar>(), &power},
  };
  const auto found = kernels.find(op);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace openmps::half
