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
#include "engine/index_guards.h"
#include "tensor/header.h"
#include "engine/reports.h"

namespace openmps {
namespace {

using at::Tensor;
using torch::jit::Stack;

// On the CPU, whichever engine holds the bytes, and without waiting as the program would.
Tensor on_host(const Tensor& tensor) {
  return is_mps(tensor) ? backing_view(tensor, /*written=*/false).to(c10::kCPU) : tensor;
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

// Put together only for an index that is wrong, or looked at for the first time.
using MakeText = c10::function_ref<IndexErrorText()>;

// Nothing is said about an index without a text.
bool is_silent(const IndexErrorText& text) { return text.before.empty() && text.after.empty(); }

// Whether `index` holds values outside [low, high); then it gets `instead` in the place of all of
// them, and the first is reported.
bool repair_on_host(Tensor& index, int64_t low, int64_t high, MakeText make_text, int64_t instead) {
  const auto host = on_host(index);
  const auto wrong = (host < low).logical_or(host >= high);
  const auto found = host.masked_select(wrong);
  if (found.numel() == 0) return false;
  index = like(index, host.masked_fill(wrong, instead));
  const auto text = make_text();
  if (!is_silent(text)) report(c10::str(text.before, found[0].item<int64_t>(), text.after));
  return true;
}

// An engine that checks indices first does not wait to see whether it is necessary: every index is
// looked at, and comes back.
bool repair(Tensor& index, int64_t low, int64_t high, MakeText text, bool silent = false,
            int64_t instead = 0) {
  if (!engine().checks_indices_first() || !is_mps(index)) {
    return repair_on_host(index, low, high, text, instead);
  }
  IndexBounds bounds{low, high, low};
  if (silent) {
    bounds.quiet_low = kLowestIndex;
    bounds.quiet_high = kHighestIndex;
  }
  index = engine().check_indices(index, bounds, text);
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
bool repair_dimension(Stack& arguments, const char* name, int64_t instead) {
  const auto self = arguments[0].toTensor();
  auto index = arguments[2].toTensor();
  if (!is_index(index)) return false;
  const auto dim = at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  const auto size = self.dim() == 0 ? 1 : self.size(dim);
  const auto text = [&]() -> IndexErrorText {
    const auto which = has_dense_layout(self, index, dim) ? std::string() : c10::str(" ", dim);
    return {c10::str(name, ": index "),
            c10::str(" is out of bounds for dimension", which, " with size ", size), ""};
  };
  if (!repair(index, 0, size, text, /*silent=*/false, instead)) return false;
  arguments[2] = index;
  return true;
}

bool repair_scatter(Stack& arguments) { return repair_dimension(arguments, "scatter", 0); }

// Gives 0 for an index out of range: read from a row of zeros, added at the end. Where indices are
// checked first that would cost every call a copy: there it gives the nearest row.
bool repair_gather(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  if (self.dim() == 0 || engine().checks_indices_first())
    return repair_dimension(arguments, "gather", 0);
  const auto dim = at::maybe_wrap_dim(arguments[1].toInt(), self.dim());
  if (!repair_dimension(arguments, "gather", self.size(dim))) return false;
  auto row = self.sizes().vec();
  row[dim] = 1;
  arguments[0] = at::cat({self, at::zeros(row, self.options())}, dim);
  return true;
}

// (self, indices, ...): a mask uses up as many dimensions as it has.
bool repair_index(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  c10::List<std::optional<Tensor>> repaired;
  bool any = false;
  int64_t dim = 0;
  int64_t position = 0;  // among the indices that are given: what the kernel calls the dimension
  for (const std::optional<Tensor>& given : optional_tensors(arguments[1])) {
    if (!given || !is_index(*given)) {
      repaired.push_back(given);
      const bool mask = given && given->defined();
      dim += mask ? given->dim() : 1;
      position += mask ? 1 : 0;
      continue;
    }
    if (dim >= self.dim()) return false;
    auto index = *given;
    const auto size = self.size(dim);
    if (size == 0) return false;  // which is seen before any kernel runs
    const auto text = [&]() -> IndexErrorText {
      return {"index ", c10::str(" is out of bounds for dimension ", position, " with size ", size),
              ""};
    };
    any |= repair(index, -size, size, text);
    repaired.push_back(index);
    ++dim;
    ++position;
  }
  if (any) arguments[1] = std::move(repaired);
  return any;
}

IndexErrorText no_text() { return {}; }

// index_select and embedding look at nothing on a Mac: whatever lies there is the result.
bool repair_selection(Stack& arguments, size_t self_at, size_t index_at, int64_t dim) {
  const auto self = arguments[self_at].toTensor();
  auto index = arguments[index_at].toTensor();
  if (!is_index(index) || self.dim() == 0) return false;
  if (!repair(index, 0, self.size(at::maybe_wrap_dim(dim, self.dim())), no_text, /*silent=*/true)) {
    return false;
  }
  arguments[index_at] = index;
  return true;
}

bool repair_index_select(Stack& arguments) {
  return repair_selection(arguments, 0, 2, arguments[1].toInt());
}
bool repair_embedding(Stack& arguments) { return repair_selection(arguments, 0, 1, 0); }

// (weight, indices, offsets, ...): the kernel lets one index too many pass, as written there.
bool repair_embedding_bag(Stack& arguments) {
  const auto rows = arguments[0].toTensor().size(0);
  auto index = arguments[1].toTensor();
  if (!is_index(index)) return false;
  if (engine().checks_indices_first() && is_mps(index)) {
    const IndexBounds bounds{0, rows, 0, /*quiet_low=*/0, /*quiet_high=*/rows + 1};
    arguments[1] = engine().check_indices(index, bounds, [&]() -> IndexErrorText {
      return {"Index ", c10::str(", range 0 to ", rows), " is out of bounds: "};
    });
    return true;
  }
  const auto host = on_host(index);
  const auto reported = (host < 0).logical_or(host > rows).nonzero();
  if (!repair(index, 0, rows, no_text, /*silent=*/true)) return false;
  arguments[1] = index;
  if (reported.numel() != 0) {
    const auto position = reported[0][0].item<int64_t>();
    report(c10::str("Index ", position, " is out of bounds: ", host[position].item<int64_t>(),
                    ", range 0 to ", rows));
  }
  return true;
}

// (self, indices, output_size, ...)
bool repair_unpool(Stack& arguments) {
  auto index = arguments[1].toTensor();
  if (!is_index(index)) return false;
  int64_t volume = 1;
  for (const auto size : arguments[2].toDimVector()) volume *= size;
  const auto text = [&]() -> IndexErrorText {
    return {"Found an invalid max index: ", c10::str(" (size_prod is ", volume, ")"), ""};
  };
  if (!repair(index, 0, volume, text)) return false;
  arguments[1] = index;
  return true;
}

// Operators whose kernels raise at once where they can. Where indices are checked first they
// cannot: a CUDA kernel would end the process.

bool repair_plain_dimension(Stack& arguments) {
  const auto self = arguments[0].toTensor();
  auto index = arguments[2].toTensor();
  if (!is_index(index)) return false;
  const auto size =
      self.dim() == 0 ? 1 : self.size(at::maybe_wrap_dim(arguments[1].toInt(), self.dim()));
  if (!repair(index, 0, size,
              []() -> IndexErrorText { return {"index out of range in self: ", "", ""}; })) {
    return false;
  }
  arguments[2] = index;
  return true;
}

bool repair_target(Stack& arguments, size_t self_at, size_t ignore_at) {
  const auto self = arguments[self_at].toTensor();
  const auto target = arguments[self_at + 1].toTensor();
  if (!is_index(target) || !is_mps(target) || self.dim() == 0) return false;
  const auto classes = self.size(self.dim() == 1 ? 0 : 1);
  const IndexBounds bounds{0, classes, arguments[ignore_at].toInt()};
  arguments[self_at + 1] = engine().check_indices(
      target, bounds, []() -> IndexErrorText { return {"Target ", " is out of bounds.", ""}; });
  return true;
}
bool repair_nll_loss(Stack& arguments) { return repair_target(arguments, 0, 4); }
bool repair_nll_loss_backward(Stack& arguments) { return repair_target(arguments, 1, 5); }

// (grad, indices, rows, ...): what embedding has let pass.
bool repair_embedding_backward(Stack& arguments) {
  auto index = arguments[1].toTensor();
  if (!is_index(index) || !repair(index, 0, arguments[2].toInt(), no_text, /*silent=*/true)) {
    return false;
  }
  arguments[1] = index;
  return true;
}

bool repair_binary_cross_entropy(Stack& arguments) {
  auto self = arguments[0].toTensor();
  if (!is_mps(self) || self.scalar_type() != c10::kFloat) return false;
  engine().check_probabilities(self, "all elements of input should be between 0 and 1");
  arguments[0] = self;
  return true;
}

const std::unordered_map<std::string, Repair> kCheckedFirst = {
    {"aten::index_add", repair_plain_dimension},
    {"aten::index_add_", repair_plain_dimension},
    {"aten::index_copy", repair_plain_dimension},
    {"aten::index_copy_", repair_plain_dimension},
    {"aten::index_fill_", repair_plain_dimension},
    {"aten::index_reduce", repair_plain_dimension},
    {"aten::index_reduce_", repair_plain_dimension},
    {"aten::nll_loss_forward", repair_nll_loss},
    {"aten::nll_loss_backward", repair_nll_loss_backward},
    {"aten::nll_loss2d_forward", repair_nll_loss},
    {"aten::nll_loss2d_backward", repair_nll_loss_backward},
    {"aten::embedding_dense_backward", repair_embedding_backward},
    {"aten::binary_cross_entropy", repair_binary_cross_entropy},
};

const std::unordered_map<std::string, Repair> kRepairs = {
    {"aten::index", repair_index},
    {"aten::_index_put_impl_", repair_index},
    {"aten::gather", repair_gather},
    {"aten::scatter", repair_scatter},
    {"aten::scatter_", repair_scatter},
    {"aten::scatter_add", repair_scatter},
    {"aten::scatter_add_", repair_scatter},
    {"aten::scatter_reduce", repair_scatter},
    {"aten::scatter_reduce_", repair_scatter},
    {"aten::index_select", repair_index_select},
    {"aten::embedding", repair_embedding},
    {"aten::_embedding_bag", repair_embedding_bag},
    {"aten::_embedding_bag_forward_only", repair_embedding_bag},
    {"aten::max_unpool2d", repair_unpool},
    {"aten::max_unpool3d", repair_unpool},
};

void assert_async_msg(const Tensor& self, std::string_view message) {
  constexpr size_t kMostCharacters = 250;
  TORCH_CHECK(self.numel() != 0, "Boolean value of Tensor with no values is ambiguous");
  TORCH_CHECK(self.numel() < 2, "Boolean value of Tensor with more than one value is ambiguous");
  TORCH_CHECK(message.size() < kMostCharacters, "Message length must be smaller than ",
              kMostCharacters);
  if (engine().checks_indices_first() && is_mps(self)) {
    engine().check_assertion(self.ne(0), std::string(message));
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

Repair repair_for(const std::string& op) {
  const auto found = kRepairs.find(op);
  if (found != kRepairs.end()) return found->second;
  if (!engine().checks_indices_first()) return nullptr;
  const auto checked_first = kCheckedFirst.find(op);
  return checked_first == kCheckedFirst.end() ? nullptr : checked_first->second;
}

}  // namespace openmps
