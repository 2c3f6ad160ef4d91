#include "determinism.h"

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <mutex>
#include <string>

namespace openmps {
namespace {

// PyTorch's alerts are warnings while any NoAlerts lives, and what the program asked for is here.
// The setting is the process's, not a thread's: hence the count.
struct Alerts {
  std::mutex mutex;
  std::condition_variable all_may;
  int silenced = 0;
  bool only_warn = false;
};
Alerts& alerts() {
  static auto* found = new Alerts();  // threads may outlive the process's statics
  return *found;
}

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
  std::unique_lock<std::mutex> lock(alerts().mutex);
  alerts().all_may.wait(lock, [] { return alerts().silenced == 0; });
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
  auto& context = at::globalContext();
  const std::lock_guard<std::mutex> lock(alerts().mutex);
  if (alerts().silenced++ != 0) return;
  alerts().only_warn = context.deterministicAlgorithmsWarnOnly();
  context.setDeterministicAlgorithms(context.deterministicAlgorithms(), /*warn_only=*/true);
}

void NoAlerts::end() noexcept {
  c10::WarningUtils::set_warning_handler(before_);
  auto& context = at::globalContext();
  const std::lock_guard<std::mutex> lock(alerts().mutex);
  if (--alerts().silenced != 0) return;
  context.setDeterministicAlgorithms(context.deterministicAlgorithms(), alerts().only_warn);
  alerts().all_may.notify_all();
}

}  // namespace openmps
