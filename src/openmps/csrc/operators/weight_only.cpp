// Products with weights of 4 or 8 bits, packed as on a Mac. Weights become float32 and are
// multiplied as such, which is how Apple's kernels accumulate.
#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/stack.h>
#include <torch/library.h>

#include "tensor/header.h"
#include "ledger/ledger.h"

namespace openmps {
namespace {

using at::Tensor;

constexpr int64_t kRowsPerTile = 8;

// The names that a Mac's texts begin with.
constexpr const char* kPack4 = "_convert_weight_to_int4pack_mps";
constexpr const char* kMultiply4 = "_weight_int4pack_mm_mps";
constexpr const char* kMultiply8 = "_weight_int8pack_mm_mps";

Tensor on_backing(const Tensor& tensor) {
  TORCH_CHECK(is_mps(tensor), "Passed ", c10::DeviceTypeName(tensor.device().type()),
              " tensor to MPS op");
  return backing_view(tensor);
}

Tensor as_result(Tensor product, c10::ScalarType type) {
  if (product.scalar_type() != type) product = product.to(type);
  return new_on_mps(std::move(product));
}

void check_activations(const char* function, const Tensor& A) {
  const auto type = A.scalar_type();
  TORCH_CHECK(type == c10::kBFloat16 || type == c10::kHalf || type == c10::kFloat, function,
              " : expect A to be either 32-bit or 16-bit float tensor.");
  TORCH_CHECK(A.is_contiguous(), function, " : expect A to be contiguous.");
  TORCH_CHECK(A.dim() == 2, function, " : expect A to be 2D tensor.");
}

// A Mac's kernel would take the bytes for numbers of A's type.
void check_scales(const char* function, const char* name, const Tensor& scales, const Tensor& A) {
  TORCH_CHECK(scales.scalar_type() == A.scalar_type(), function, " : ", name, " is ",
              scales.scalar_type(), ", but a Mac reads it as ", A.scalar_type(),
              ", the type of A: convert it");
}

// A byte holds two weights. On a Mac the first of them is in its lower half.
Tensor swap_halves(const Tensor& bytes) {
  return bytes.bitwise_and(15).bitwise_left_shift(4).bitwise_or(bytes.bitwise_right_shift(4));
}

Tensor convert_weight_to_int4pack(const Tensor& in, int64_t innerKTiles) {
  const ledger::UntracedOperator own("aten::_convert_weight_to_int4pack");
  TORCH_CHECK(in.dim() == 2, kPack4, " : expect weight to be 2D tensor.");
  TORCH_CHECK(in.scalar_type() == at::kByte, kPack4, " : expect weight to be kByte.");
  TORCH_CHECK(innerKTiles == 2 || innerKTiles == 4 || innerKTiles == 8, kPack4,
              " : innerKTiles need to be 2, 4, or 8, got ", innerKTiles);
  const auto N = in.size(0);
  const auto row = in.size(1);  // bytes
  const auto packed =
      at::empty({N / kRowsPerTile, row * 2 / (16 * innerKTiles), 32, innerKTiles / 2},
                in.options().dtype(at::kInt));
  const auto target = on_backing(packed).view(at::kByte).flatten();
  // The kernel goes over whole 32-bit words of a row; the shape is for other devices' layouts.
  const auto bytes = std::min(N * (row / 4) * 4, target.numel());
  const auto source = on_backing(in.contiguous()).flatten().narrow(0, 0, bytes);
  target.narrow(0, 0, bytes).copy_(swap_halves(source));
  return packed;
}

// [N, K] weights of 0 to 15, as float32
Tensor unpack_int4(const Tensor& packed, int64_t N, int64_t K) {
  const auto bytes =
      on_backing(packed).view(at::kByte).flatten().narrow(0, 0, N * K / 2).view({N, K / 2});
  return at::stack({bytes.bitwise_and(15), bytes.bitwise_right_shift(4)}, 2)
      .view({N, K})
      .to(at::kFloat);
}

// [groups, N] to [N, K]: a value for each weight of its group
Tensor spread(const Tensor& values, int64_t group, int64_t K) {
  const auto by_row = values.t().to(at::kFloat).unsqueeze(2);
  return by_row.expand({by_row.size(0), by_row.size(1), group}).flatten(1).narrow(1, 0, K);
}

Tensor weight_int4pack_mm(const Tensor& A, const Tensor& B, int64_t qGroupSize,
                          const Tensor& qScaleAndZeros) {
  const ledger::UntracedOperator own("aten::_weight_int4pack_mm");
  const auto N = B.size(0) * kRowsPerTile;
  const auto K = A.size(1);
  check_activations(kMultiply4, A);
  TORCH_CHECK(B.scalar_type() == at::kInt, kMultiply4, " : expect B to be int32 tensor.");
  TORCH_CHECK(B.is_contiguous(), kMultiply4, " : expect B to be contiguous.");
  TORCH_CHECK(B.dim() == 4, kMultiply4, " : expect B to 4d tensor.");
  TORCH_CHECK(qGroupSize == 32 || qGroupSize == 64 || qGroupSize == 128 || qGroupSize == 256,
              kMultiply4, ": expect qGroupSize to be 32, 64, 128 or 256, got ", qGroupSize);
  TORCH_CHECK(
      qScaleAndZeros.dim() == 3 && qScaleAndZeros.size(1) == N && qScaleAndZeros.size(2) == 2,
      kMultiply4, ": expect qScaleAndZeros to be 3d tensor with sizes [:, ", N, ", 2]");
  check_scales(kMultiply4, "qScaleAndZeros", qScaleAndZeros, A);
  const auto groups = (K + qGroupSize - 1) / qGroupSize;
  TORCH_CHECK(K % 2 == 0 && N * K / 2 <= B.numel() * 4 && groups <= qScaleAndZeros.size(0),
              kMultiply4, " : A has ", K, " columns, but B holds weights for ",
              N == 0 ? 0 : B.numel() * 8 / N, " and qScaleAndZeros for ",
              qScaleAndZeros.size(0) * qGroupSize, ": a Mac would read past their end");
  const auto scales = on_backing(qScaleAndZeros).narrow(0, 0, groups).select(2, 0);
  const auto zeros = on_backing(qScaleAndZeros).narrow(0, 0, groups).select(2, 1);
  // In A's type, as the kernel has it: weights are centred at 8.
  const auto offsets = zeros - scales * 8;
  const auto weights = unpack_int4(B, N, K).mul_(spread(scales, qGroupSize, K));
  weights.add_(spread(offsets, qGroupSize, K));
  return as_result(on_backing(A).to(at::kFloat).matmul(weights.t()), A.scalar_type());
}

Tensor weight_int8pack_mm(const Tensor& A, const Tensor& B, const Tensor& scales) {
  const ledger::UntracedOperator own("aten::_weight_int8pack_mm");
  const auto N = B.size(0);
  const auto K = A.size(1);
  check_activations(kMultiply8, A);
  TORCH_CHECK(B.scalar_type() == at::kChar, kMultiply8, " : expect B to be int8 tensor.");
  TORCH_CHECK(B.is_contiguous(), kMultiply8, " : expect B to be contiguous.");
  TORCH_CHECK(B.size(1) == K, kMultiply8, " : expect B.size(1) == ", K);
  TORCH_CHECK(scales.dim() == 1 && scales.size(0) == N, kMultiply8,
              " : expect scales to be 1d tensor with size ", N);
  TORCH_CHECK(N % 32 == 0 && K % 32 == 0);
  check_scales(kMultiply8, "scales", scales, A);
  auto product = on_backing(A).to(at::kFloat).matmul(on_backing(B).to(at::kFloat).t());
  product.mul_(on_backing(scales).to(at::kFloat));
  return as_result(std::move(product), A.scalar_type());
}

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("_convert_weight_to_int4pack", convert_weight_to_int4pack);
  m.impl("_weight_int4pack_mm", weight_int4pack_mm);
  m.impl("_weight_int8pack_mm", weight_int8pack_mm);
}

}  // namespace
}  // namespace openmps
