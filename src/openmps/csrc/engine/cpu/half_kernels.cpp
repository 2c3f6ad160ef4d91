#include "engine/cpu/half_kernels.h"

#include <ATen/ExpandUtils.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <unordered_map>

#include "engine/cpu/half_attention.h"
#include "engine/cpu/half_convolution.h"
#include "engine/cpu/half_others.h"
#include "engine/cpu/half_products.h"
#include "engine/cpu/half_support.h"
#include "tensor/allocation_tracker.h"
#include "tensor/header.h"

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;

bool overlaps_itself(const Tensor& tensor) {
  if (tensor.is_contiguous()) return false;
  return !tensor.is_non_overlapping_and_dense() &&
         std::any_of(tensor.strides().begin(), tensor.strides().end(),
                     [](int64_t stride) { return stride == 0; });
}

// How the factors of a product lie, and how many dimensions it has.
enum class Shape { kVectors, kMatrixAndVector, kMatrices, kBatches };

int64_t dimensions_of_first(Shape shape) {
  return shape == Shape::kVectors ? 1 : shape == Shape::kBatches ? 3 : 2;
}
int64_t dimensions_of_second(Shape shape) {
  return shape == Shape::kMatrices ? 2 : shape == Shape::kBatches ? 3 : 1;
}

std::vector<int64_t> sizes_of_product(const Tensor& a, const Tensor& b, Shape shape) {
  switch (shape) {
    case Shape::kVectors:
      return {};
    case Shape::kMatrixAndVector:
      return {a.size(0)};
    case Shape::kMatrices:
      return {a.size(0), b.size(1)};
    default:
      return {a.size(0), a.size(1), b.size(2)};
  }
}

// The tensor as matrices; a vector is a row, or a column.
half::Matrices matrices_of(const BackingView& view, bool vector_is_row) {
  const auto& tensor = view.get();
  auto* data = static_cast<uint16_t*>(const_cast<void*>(tensor.const_data_ptr()));
  const auto size = [&](int64_t dim) { return dim < 0 ? 1 : tensor.size(dim); };
  const auto stride = [&](int64_t dim) { return size(dim) == 1 ? 1 : tensor.stride(dim); };
  const auto last = tensor.dim() - 1;
  if (tensor.dim() < 2) {
    const half::Matrix row{data, 1, size(last), 1, stride(last)};
    return {vector_is_row ? row : row.transposed()};
  }
  const half::Matrix first{data, size(last - 1), size(last), stride(last - 1), stride(last)};
  if (last == 1) return {first};
  return {first, size(0), tensor.stride(0)};
}

// The summand as matrices of the result's shape.
half::Matrices expanded(const BackingView& view, const half::Matrices& like) {
  auto matrices = matrices_of(view, like.first.rows == 1 || view.get().dim() < 2);
  auto& first = matrices.first;
  if (view.get().dim() == 1 && like.first.columns == 1 && like.first.rows == first.columns) {
    first = first.transposed();  // of a product with a vector
  }
  if (first.rows != like.first.rows) first.row_stride = 0;
  if (first.columns != like.first.columns) first.column_stride = 0;
  if (matrices.count != like.count) matrices.stride = 0;
  first.rows = like.first.rows;
  first.columns = like.first.columns;
  matrices.count = like.count;
  return matrices;
}

// kSummand: (self, a, b, beta, alpha) and not (a, b). What follows is `out`.
template <Shape kShape, bool kSummand = false, bool kInPlace = false>
bool multiply(Stack* stack, size_t first) {
  constexpr size_t kCount = kSummand ? 5 : 2;
  const auto& a = stack->at(first + kSummand).toTensor();
  const auto& b = stack->at(first + kSummand + 1).toTensor();
  const auto type = a.scalar_type();
  if (!half::is_half(type) || !half::is_usual(a, type) || !half::is_usual(b, type)) return false;
  if (a.dim() != dimensions_of_first(kShape) || b.dim() != dimensions_of_second(kShape)) {
    return false;
  }
  if (a.size(-1) != b.size(b.dim() < 2 ? 0 : b.dim() - 2)) return false;
  if (kShape == Shape::kBatches && a.size(0) != b.size(0)) return false;
  const auto sizes = sizes_of_product(a, b, kShape);

  Tensor self;
  half::Product product{type, {}, {}, {}};
  if constexpr (kSummand) {
    self = stack->at(first).toTensor();
    const auto& beta = stack->at(first + 3);
    const auto& alpha = stack->at(first + 4);
    if (!half::is_usual(self, type) || beta.isComplexDouble() || alpha.isComplexDouble())
      return false;
    if (kInPlace ? self.sizes() != c10::IntArrayRef(sizes)
                 : !at::is_expandable_to(self.sizes(), sizes)) {
      return false;
    }
    product.beta = beta.toScalar().toDouble();
    product.alpha = alpha.toScalar().toDouble();
  }

  const bool has_out = stack->size() - first > kCount;
  Tensor out = has_out ? stack->at(first + kCount).toTensor() : kInPlace ? self : Tensor();
  if (out.defined()) {
    if (!is_mps(out) || !is_plain(out) || out.scalar_type() != type || out.is_neg()) return false;
    if (overlaps_itself(out) || out.is_alias_of(a) || out.is_alias_of(b)) return false;
    if (self.defined() && !self.is_same(out) && self.is_alias_of(out)) return false;
    at::native::resize_output(out, sizes);
  }

  const BackingView view_a(a, /*written=*/false);
  const BackingView view_b(b, /*written=*/false);
  product.a = matrices_of(view_a, /*vector_is_row=*/kShape == Shape::kVectors);
  product.b = matrices_of(view_b, /*vector_is_row=*/false);
  // What the processor does by itself it does at once, unless numbers would be rounded in between.
  product.out = {{nullptr, product.a.first.rows, product.b.first.columns, 0, 0}, product.a.count};
  if (type == c10::kBFloat16 && product.alpha == 1 && !product.is_small() &&
      half::has_bfloat16_products()) {
    return false;
  }

  if (!out.defined()) out = at::empty(sizes, a.options());
  const BackingView view_out(out);
  const BackingView view_self(self.defined() ? self : out, /*written=*/false);
  product.out = matrices_of(view_out, /*vector_is_row=*/false);
  if (self.defined() && product.beta != 0) product.self = expanded(view_self, product.out);
  {
    const Tracking untracked(false);  // panels are no memory of a Mac's
    half::multiply(product);
  }
  stack->resize(first);
  stack->emplace_back(std::move(out));
  return true;
}

}  // namespace

Engine::HalfKernel half_kernel_on_cpu(const std::string& op) {
  static const std::unordered_map<std::string, Engine::HalfKernel> kernels = {
      {"aten::convolution", &half::convolution},
      {"aten::convolution_backward", &half::convolution_backward},
      {"aten::_scaled_dot_product_flash_attention_for_cpu", &half::attention},
      {"aten::_scaled_dot_product_flash_attention_for_cpu_backward", &half::attention_backward},
      {"aten::dot", &multiply<Shape::kVectors>},
      {"aten::vdot", &multiply<Shape::kVectors>},
      {"aten::mm", &multiply<Shape::kMatrices>},
      {"aten::mm.out", &multiply<Shape::kMatrices>},
      {"aten::bmm", &multiply<Shape::kBatches>},
      {"aten::bmm.out", &multiply<Shape::kBatches>},
      {"aten::addmv", &multiply<Shape::kMatrixAndVector, true>},
      {"aten::addmv.out", &multiply<Shape::kMatrixAndVector, true>},
      {"aten::addmv_", &multiply<Shape::kMatrixAndVector, true, true>},
      {"aten::addmm", &multiply<Shape::kMatrices, true>},
      {"aten::addmm.out", &multiply<Shape::kMatrices, true>},
      {"aten::addmm_", &multiply<Shape::kMatrices, true, true>},
      {"aten::baddbmm", &multiply<Shape::kBatches, true>},
      {"aten::baddbmm.out", &multiply<Shape::kBatches, true>},
      {"aten::baddbmm_", &multiply<Shape::kBatches, true, true>},
  };
  const auto found = kernels.find(op);
  return found == kernels.end() ? half::other_kernel(op) : found->second;
}

}  // namespace openmps
