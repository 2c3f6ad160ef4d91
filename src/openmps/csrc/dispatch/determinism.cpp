#include "dispatch/determinism.h"

#include <ATen/core/Tensor.h>

#include <atomic>

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
  TORCH_CHECK(!engine().has_alerts_of_its_own() || alerts_only_warn(), kernel,
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
  at::globalContext().setDeterministicAlgorithms(wanted,
                                                 only_warn || engine().has_alerts_of_its_own());
}

bool alerts_only_warn() { return g_only_warn; }

}  // namespace openmps
