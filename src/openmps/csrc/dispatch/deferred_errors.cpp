#include "dispatch/deferred_errors.h"

#include <ATen/TensorOperators.h>
#include <ATen/WrapDimUtils.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <unordered_map>

#include "engine/engine.h"
#include "dispatch/call.h"
#include "engine/cuda/index_guards.h"
#include "tensor/header.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;

// On the CPU, whichever engine holds the bytes, and without waiting as the program would.
Tensor on_host(const Tensor& tensor) {
  return is_mps(tensor) ? backing_view(tensor).to(c10::kCPU) : tensor;
}

// `host` where `original` is, also without waiting.
Tensor like(const Tensor& original, const Tensor& host) {
  if (!is_mps(original)) return host;
  const auto copy = at::empty(host.sizes(), host.options().device(original.device()));
  backing_view(copy).copy_(host);
  return copy;
}

bool is_index(const Tensor& tensor) {
  return tensor.defined() &&
         (tensor.scalar_type() == c10::kLong || tensor.scalar_type() == c10::kInt);
}

// What to say about an index: `before`, the index, `after`. Nothing at all if both are empty.
struct Report {
  std::string before;
  std::string after;
  bool is_silent() const { return before.empty() && after.empty(); }
};

// Whether `index` holds values outside [low, high); then it gets `instead` in the place of all of
// them, and the first is reported.
bool mend_on_host(Tensor& index, int64_t low, int64_t high, const Report& says, int64_t instead) {
  const auto host = on_host(index);
  const auto wrong = (host < low).logical_or(host >= high);
  const auto found = host.masked_select(wrong);
  if (found.numel() == 0) return false;
  index = like(index, host.masked_fill(wrong, instead));
  if (!says.is_silent()) report(c10::str(says.before, found[0].item<int64_t>(), says.after));
  return true;
}

// On a GPU nobody waits to see whether it is necessary: every index is looked at, and comes back.
bool mend(Tensor& index, int64_t low, int64_t high, const Report& says, int64_t instead = 0) {
  if (backing().is_cpu() || !is_mps(index)) return mend_on_host(index, low, high, says, instead);
  guards::Bounds bounds{low, high, low};
  if (says.is_silent()) {
    bounds.quiet_low = guards::kLowest;
    bounds.quiet_high = guards::kHighest;
  }
  index = guards::index(index, bounds, {says.before, says.after, ""});
  return true;
}

bool has_dense_layout(const Tensor& self, const Tensor& index, int64_t dim) {
  if (!self.is_contiguous() || !index.is_contiguous()) return false;
  for (int64_t i = 0; i < self.dim(); ++i) {
    if (i != dim && self.size(i) != index.size(i)) return false;
  }
  return true;
}

// (self, dim, index, ...): the two texts are those of the kernels for dense and for any layout.
bool mend_dimension(Stack& arguments, const char* name, int64_t instead) {
  const auto self = arguments[0].toTensor();
  auto index = arguments[2].toTensor();
  if (!is_index(index)) return false;
  const auto dim = at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  const auto size = self.dim() == 0 ? 1 : self.size(dim);
  const auto which = has_dense_layout(self, index, dim) ? std::string() : c10::str(" ", dim);
  const Report says = {c10::str(name, ": index "),
                       c10::str(" is out of bounds for dimension", which, " with size ", size)};
  if (!mend(index, 0, size, says, instead)) return false;
  arguments[2] = index;
  return true;
}

bool mend_scatter(Stack& arguments) { return mend_dimension(arguments, "scatter", 0); }

// Gives 0 for an index out of range: read from a row of zeros, added at the end. On a GPU that
// would cost every call a copy: there it gives the nearest row.
bool mend_gather(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  if (self.dim() == 0 || !backing().is_cpu()) return mend_dimension(arguments, "gather", 0);
  const auto dim = at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  if (!mend_dimension(arguments, "gather", self.size(dim))) return false;
  auto row = self.sizes().vec();
  row[dim] = 1;
  arguments[0] = at::cat({self, at::zeros(row, self.options())}, dim);
  return true;
}

// (self, indices, ...): a mask uses up as many dimensions as it has.
bool mend_index(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  c10::List<std::optional<Tensor>> mended;
  bool any = false;
  int64_t dim = 0;
  int64_t position = 0;  // among the indices that are given: what the kernel calls the dimension
  for (const std::optional<Tensor>& given : optional_tensors(arguments[1])) {
    if (!given || !is_index(*given)) {
      mended.push_back(given);
      const bool mask = given && given->defined();
      dim += mask ? given->dim() : 1;
      position += mask ? 1 : 0;
      continue;
    }
    if (dim >= self.dim()) return false;
    auto index = *given;
    const auto size = self.size(dim);
    if (size == 0) return false;  // which is seen before any kernel runs
    const Report says = {
        "index ", c10::str(" is out of bounds for dimension ", position, " with size ", size)};
    any |= mend(index, -size, size, says);
    mended.push_back(index);
    ++dim;
    ++position;
  }
  if (any) arguments[1] = std::move(mended);
  return any;
}

// index_select and embedding look at nothing on a Mac: whatever lies there is the result.
bool mend_selection(Stack& arguments, size_t self_at, size_t index_at, int64_t dim) {
  const auto self = arguments[self_at].toTensor();
  auto index = arguments[index_at].toTensor();
  if (!is_index(index) || self.dim() == 0) return false;
  if (!mend(index, 0, self.size(at::maybe_wrap_dim(dim, self.dim())), {})) return false;
  arguments[index_at] = index;
  return true;
}

bool mend_index_select(Stack& arguments) {
  return mend_selection(arguments, 0, 2, arguments[1].toInt());
}
bool mend_embedding(Stack& arguments) { return mend_selection(arguments, 0, 1, 0); }

// (weight, indices, offsets, ...): the kernel lets one index too many pass, as written there.
bool mend_embedding_bag(Stack& arguments) {
  const auto rows = arguments[0].toTensor().size(0);
  auto index = arguments[1].toTensor();
  if (!is_index(index)) return false;
  if (!backing().is_cpu() && is_mps(index)) {
    const guards::Bounds bounds{0, rows, 0, /*quiet_low=*/0, /*quiet_high=*/rows + 1};
    arguments[1] = guards::index(
        index, bounds, {"Index ", c10::str(", range 0 to ", rows), " is out of bounds: "});
    return true;
  }
  const auto host = on_host(index);
  const auto reported = (host < 0).logical_or(host > rows).nonzero();
  if (!mend(index, 0, rows, {})) return false;
  arguments[1] = index;
  if (reported.numel() != 0) {
    const auto position = reported[0][0].item<int64_t>();
    report(c10::str("Index ", position, " is out of bounds: ", host[position].item<int64_t>(),
                    ", range 0 to ", rows));
  }
  return true;
}

// (self, indices, output_size, ...)
bool mend_unpool(Stack& arguments) {
  auto index = arguments[1].toTensor();
  if (!is_index(index)) return false;
  int64_t volume = 1;
  for (const auto size : arguments[2].toDimVector()) volume *= size;
  const Report says = {"Found an invalid max index: ", c10::str(" (size_prod is ", volume, ")")};
  if (!mend(index, 0, volume, says)) return false;
  arguments[1] = index;
  return true;
}

// Operators whose errors come at once on the CPU engine, too. A CUDA kernel would stop the process.

bool mend_plain_dimension(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  auto index = arguments[2].toTensor();
  if (!is_index(index)) return false;
  const auto size =
      self.dim() == 0 ? 1 : self.size(at::maybe_wrap_dim(arguments[1].toInt(), self.dim()));
  if (!mend(index, 0, size, {"index out of range in self: ", ""})) return false;
  arguments[2] = index;
  return true;
}

bool mend_target(Stack& arguments, size_t self_at, size_t ignore_at) {
  const auto self = arguments[self_at].toTensor();
  const auto target = arguments[self_at + 1].toTensor();
  if (!is_index(target) || !is_mps(target) || self.dim() == 0) return false;
  const auto classes = self.size(self.dim() == 1 ? 0 : 1);
  const guards::Bounds bounds{0, classes, arguments[ignore_at].toInt()};
  arguments[self_at + 1] = guards::index(target, bounds, {"Target ", " is out of bounds.", ""});
  return true;
}
bool mend_nll_loss(Stack& arguments) { return mend_target(arguments, 0, 4); }
bool mend_nll_loss_backward(Stack& arguments) { return mend_target(arguments, 1, 5); }

// (grad, indices, rows, ...): what embedding has let pass.
bool mend_embedding_backward(Stack& arguments) {
  auto index = arguments[1].toTensor();
  if (!is_index(index) || !mend(index, 0, arguments[2].toInt(), {})) return false;
  arguments[1] = index;
  return true;
}

bool mend_binary_cross_entropy(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  if (!is_mps(self) || self.scalar_type() != c10::kFloat) return false;
  arguments[0] = guards::probabilities(self, "all elements of input should be between 0 and 1");
  return true;
}

const std::unordered_map<std::string, Mend> kGpuMends = {
    {"aten::index_add", mend_plain_dimension},
    {"aten::index_add_", mend_plain_dimension},
    {"aten::index_copy", mend_plain_dimension},
    {"aten::index_copy_", mend_plain_dimension},
    {"aten::index_fill_", mend_plain_dimension},
    {"aten::index_reduce", mend_plain_dimension},
    {"aten::index_reduce_", mend_plain_dimension},
    {"aten::nll_loss_forward", mend_nll_loss},
    {"aten::nll_loss_backward", mend_nll_loss_backward},
    {"aten::nll_loss2d_forward", mend_nll_loss},
    {"aten::nll_loss2d_backward", mend_nll_loss_backward},
    {"aten::embedding_dense_backward", mend_embedding_backward},
    {"aten::binary_cross_entropy", mend_binary_cross_entropy},
};

const std::unordered_map<std::string, Mend> kMends = {
    {"aten::index", mend_index},
    {"aten::_index_put_impl_", mend_index},
    {"aten::gather", mend_gather},
    {"aten::scatter", mend_scatter},
    {"aten::scatter_", mend_scatter},
    {"aten::scatter_add", mend_scatter},
    {"aten::scatter_add_", mend_scatter},
    {"aten::scatter_reduce", mend_scatter},
    {"aten::scatter_reduce_", mend_scatter},
    {"aten::index_select", mend_index_select},
    {"aten::embedding", mend_embedding},
    {"aten::_embedding_bag", mend_embedding_bag},
    {"aten::_embedding_bag_forward_only", mend_embedding_bag},
    {"aten::max_unpool2d", mend_unpool},
    {"aten::max_unpool3d", mend_unpool},
};

void assert_async_msg(const Tensor& self, std::string_view message) {
  constexpr size_t kMostCharacters = 250;
  TORCH_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCH_CHECK(self.numel() < 2, "Boolean value of Tensor with more than one value is ambiguous");
  TORCH_CHECK(message.size() < kMostCharacters, "Message length must be smaller than ",
              kMostCharacters);
  if (!backing().is_cpu() && is_mps(self)) {
    guards::holds(self.ne(0), std::string(message));
    return;
  }
  if (on_host(self).ne(0).any().item<bool>()) return;
  report(std::string(message));
}

void assert_async(const Tensor& self) { assert_async_msg(self, ""); }

TORCH_LIBRARY_IMPL(aten, MPS, m) {
  m.impl("_assert_async", assert_async);
  m.impl("_assert_async.msg", assert_async_msg);
}

}  // namespace

Mend mend_for(const std::string& op) {
  const auto found = kMends.find(op);
  if (found != kMends.end()) return found->second;
  const auto on_gpu = kGpuMends.find(op);
  return backing().is_cpu() || on_gpu == kGpuMends.end() ? nullptr : on_gpu->second;
}

}  // namespace openmps
