#include "dispatch/determinism.h"

#include <ATen/core/Tensor.h>
#include <ATen/native/Resize.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <atomic>
#include <unordered_map>

#include "engine/engine.h"

namespace openmps {
namespace {

std::atomic<bool> g_only_warn{false};

// Lets everything pass but alerts.
struct WithoutAlerts final : c10::WarningHandler {
  c10::WarningHandler* next = nullptr;

  void process(const c10::Warning& warning) override {
    if (warning.msg().find("use_deterministic_algorithms") == std::string::npos) {
      next->process(warning);
    }
  }
};
thread_local WithoutAlerts g_without_alerts;

void alert(const char* kernel) {
  if (c10::WarningUtils::get_warning_handler() == &g_without_alerts) return;
  TORCH_CHECK(backing().is_cpu() || alerts_only_warn(), kernel,
              " does not have a deterministic implementation, but you set "
              "'torch.use_deterministic_algorithms(True)'. You can turn off determinism just for "
              "this operation, or you can use the 'warn_only=True' option, if that's acceptable "
              "for your application. You can also file an issue at "
              "https://github.com/pytorch/pytorch/issues to help us prioritize adding "
              "deterministic support for this operation.");
  at::globalContext().alertNotDeterministic(kernel);
}

const c10::IValue* argument(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                            size_t first, const char* name) {
  const auto index = schema.argumentIndexWithName(name);
  return index ? &stack[first + static_cast<size_t>(*index)] : nullptr;
}

// Sums of integers come out the same in any order.
bool rounds(const at::Tensor& tensor) {
  return at::isFloatingType(tensor.scalar_type()) || at::isComplexType(tensor.scalar_type());
}

bool reduces_by(const c10::IValue* reduce, std::initializer_list<const char*> kinds) {
  if (reduce == nullptr || !reduce->isString()) return false;
  for (const char* kind : kinds) {
    if (reduce->toStringRef() == kind) return true;
  }
  return false;
}

}  // namespace

void alert_if_not_deterministic(const c10::FunctionSchema& schema, const torch::jit::Stack& stack,
                                size_t first) {
  if (!must_be_deterministic()) return;
  const auto& name = schema.name();
  if (name == "aten::kthvalue") return alert("kthvalue MPS");
  if (!stack[first].isTensor() || !rounds(stack[first].toTensor())) return;
  const auto* reduce = argument(schema, stack, first, "reduce");
  if (name == "aten::_index_put_impl_") {
    const auto* accumulate = argument(schema, stack, first, "accumulate");
    if (accumulate->toBool()) alert("index_put_with_accumulate_mps");
  } else if (name.rfind("aten::index_add", 0) == 0) {
    alert("index_put_with_accumulate_mps");  // which it then calls
  } else if (name.rfind("aten::index_reduce", 0) == 0) {
    if (reduces_by(reduce, {"prod", "mean"})) alert("index_reduce_mps");
  } else if (name.rfind("aten::scatter_add", 0) == 0 ||
             (name.rfind("aten::scatter", 0) == 0 &&
              reduces_by(reduce, {"sum", "prod", "mean", "add", "multiply"}))) {
    alert("scatter_reduce_mps");
  }
}

void NoAlerts::begin() {
  before_ = c10::WarningUtils::get_warning_handler();
  if (before_ != &g_without_alerts) g_without_alerts.next = before_;
  c10::WarningUtils::set_warning_handler(&g_without_alerts);
}

void NoAlerts::end() noexcept { c10::WarningUtils::set_warning_handler(before_); }

void set_deterministic(bool wanted, bool only_warn) {
  g_only_warn = only_warn;
  at::globalContext().setDeterministicAlgorithms(wanted, only_warn || !backing().is_cpu());
}

bool alerts_only_warn() { return g_only_warn; }

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

Composed composed_in_place_of(const std::string& op) {
  static const std::unordered_map<std::string, Composed> composed = {
      {"aten::max_unpool2d", &unpool<3, 2>},
      {"aten::max_unpool2d.out", &unpool<4, 2, true>},
      {"aten::max_unpool3d", &unpool<5, 3>},
      {"aten::max_unpool3d.out", &unpool<6, 3, true>},
      {"aten::put_", &put},
  };
  const auto found = backing().is_cpu() ? composed.find(op) : composed.end();
  return found == composed.end() ? nullptr : found->second;
}

}  // namespace openmps
