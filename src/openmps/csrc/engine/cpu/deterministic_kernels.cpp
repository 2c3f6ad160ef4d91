#include "engine/cpu/deterministic_kernels.h"

#include <ATen/TensorOperators.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <unordered_map>

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;

// A value goes where its index says in a plane (2 axes) or a volume (3), zeros everywhere else.
Tensor unpooled(const Tensor& self, const Tensor& indices, c10::IntArrayRef output, int64_t axes) {
  TORCH_CHECK(indices.scalar_type() == at::kLong,
              "elements in indices should be type int64 but got: ", indices.scalar_type());
  TORCH_CHECK(static_cast<int64_t>(output.size()) == axes, "There should be exactly ", axes,
              " elements in output_size, but got ", output.size(), " elements.");
  TORCH_CHECK(self.dim() > axes, "Input to max_unpooling", axes, "d has only ", self.dim(),
              " dimensions.");
  TORCH_CHECK(self.sizes() == indices.sizes(),
              "Expected shape of indices to be same as that of the input tensor (", self.sizes(),
              ") but got indices tensor with shape: ", indices.sizes());
  auto sizes = self.sizes().slice(0, self.dim() - axes).vec();
  sizes.insert(sizes.end(), output.begin(), output.end());
  return at::zeros(sizes, self.options())
      .flatten(-axes)
      .scatter(-1, indices.flatten(-axes), self.flatten(-axes))
      .view(sizes)
      .contiguous(self.suggest_memory_format());
}

// With so many arguments, the last of which may be `out`.
template <size_t kArguments, int64_t kAxes, bool kOut = false>
bool unpool(Stack* stack) {
  const auto given = torch::jit::pop(*stack, kArguments);
  auto result = unpooled(given[0].toTensor(), given[1].toTensor(), given[2].toIntVector(), kAxes);
  if constexpr (kOut) {
    auto out = given.back().toTensor();
    at::native::resize_output(out, result.sizes());
    result = out.copy_(result);
  }
  torch::jit::push(stack, std::move(result));
  return true;
}

// self, index, source, accumulate; an index counts through all elements. Only what overwrites has
// an alert.
bool put(Stack* stack) {
  if (stack->back().toBool()) return false;
  const auto given = torch::jit::pop(*stack, 4);
  auto self = given[0].toTensor();
  const auto source = given[2].toTensor();
  auto index = given[1].toTensor().reshape(source.sizes());
  TORCH_CHECK_INDEX(self.numel() != 0 || index.numel() == 0,
                    "put_(): Tried to put elements into an empty tensor");
  index = at::where(index < 0, index + self.numel(), index);
  c10::List<std::optional<Tensor>> places;
  auto below = self.numel();
  const auto target = self.dim() == 0 ? self.unsqueeze(0) : self;
  for (const auto size : target.sizes()) {
    below /= std::max<int64_t>(size, 1);
    // Not the first: there an index that is too large stays so.
    const auto place = index.div(below, "floor");
    places.push_back(places.empty() ? place : place.remainder(size));
  }
  target.index_put_(places, source);
  torch::jit::push(stack, self);
  return true;
}

}  // namespace

Engine::DeterministicKernel deterministic_cpu_kernel(const std::string& op) {
  static const std::unordered_map<std::string, Engine::DeterministicKernel> kernels = {
      {"aten::max_unpool2d", &unpool<3, 2>},
      {"aten::max_unpool2d.out", &unpool<4, 2, true>},
      {"aten::max_unpool3d", &unpool<5, 3>},
      {"aten::max_unpool3d.out", &unpool<6, 3, true>},
      {"aten::put_", &put},
  };
  const auto found = kernels.find(op);
  return found == kernels.end() ? nullptr : found->second;
}

}  // namespace openmps
