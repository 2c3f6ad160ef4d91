#include "deferred.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <unordered_map>

#include "call.h"
#include "header.h"
#include "reports.h"

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

// The first value outside [low, high), if any; then `index` gets `instead` in the place of all of
// them.
std::optional<int64_t> mend(Tensor& index, int64_t low, int64_t high, int64_t instead = 0) {
  const auto host = on_host(index);
  const auto wrong = (host < low).logical_or(host >= high);
  const auto found = host.masked_select(wrong);
  if (found.numel() == 0) return std::nullopt;
  index = like(index, host.masked_fill(wrong, instead));
  return found[0].item<int64_t>();
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
  const bool dense = has_dense_layout(self, index, dim);
  const auto wrong = mend(index, 0, size, instead);
  if (!wrong) return false;
  arguments[2] = index;
  const auto which = dense ? std::string() : " " + std::to_string(dim);
  report(c10::str(name, ": index ", *wrong, " is out of bounds for dimension", which, " with size ",
                  size));
  return true;
}

bool mend_scatter(Stack& arguments) { return mend_dimension(arguments, "scatter", 0); }

// Gives 0 for an index out of range: read from a row of zeros, added at the end.
bool mend_gather(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  if (self.dim() == 0) return mend_dimension(arguments, "gather", 0);
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
    if (const auto wrong = mend(index, -size, size)) {
      if (!any) {
        report(c10::str("index ", *wrong, " is out of bounds for dimension ", position,
                        " with size ", size));
      }
      any = true;
    }
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
  if (!mend(index, 0, self.size(at::maybe_wrap_dim(dim, self.dim())))) return false;
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
  const auto host = on_host(index);
  const auto reported = (host < 0).logical_or(host > rows).nonzero();
  if (!mend(index, 0, rows)) return false;
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
  const auto wrong = mend(index, 0, volume);
  if (!wrong) return false;
  arguments[1] = index;
  report(c10::str("Found an invalid max index: ", *wrong, " (size_prod is ", volume, ")"));
  return true;
}

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
  return found == kMends.end() ? nullptr : found->second;
}

}  // namespace openmps
