#include "dispatch/fallback.h"

#include <ATen/native/CPUFallback.h>
#include <caffe2/core/common.h>

#include <cstdlib>
#include <cstring>

#include "dispatch/on_backing.h"
#include "profiler/profiler.h"
#include "mac/rules.h"

namespace openmps {
namespace {

constexpr const char* kAsk =
    "If you want this op to be considered for addition please comment on "
    "https://github.com/pytorch/pytorch/issues/141287 and mention use-case, that resulted in "
    "missing op as well as commit hash ";

const std::string& torch_commit() { return caffe2::GetBuildOptions().at("COMMIT_SHA"); }

// Read at every use. A Mac reads it once, when torch is imported; but accelerate, for one, sets it
// later than that and means it.
bool fallback_is_enabled() {
  const char* value = std::getenv("PYTORCH_ENABLE_MPS_FALLBACK");
  return value != nullptr && std::strcmp(value, "0") != 0;
}

}  // namespace

void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, ledger::Kind as) {
  const profiler::FallbackScope scope(op, *stack, as);
  // Real copies there and back, as on a Mac: that is what makes a fallback slow.
  at::native::cpu_fallback(op, stack);
}

void always_on_cpu(const c10::OperatorHandle& op, c10::DispatchKeySet, torch::jit::Stack* stack) {
  TORCH_WARN_ONCE("The operator '", op.schema().operator_name(),
                  "' is not currently supported on the MPS backend and will fall back to run on "
                  "the CPU. This may have performance implications.");
  run_on_host(op, stack);
}

void missing_operator(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                      torch::jit::Stack* stack) {
  if (!is_strict()) return run_on_backing(op, c10::DispatchKey::Dense, stack);
  const auto& name = op.schema().operator_name();
  TORCH_CHECK_NOT_IMPLEMENTED(name.name.rfind("c10d::", 0) != 0, "The distributed operator '", name,
                              "' is not currently implemented for the MPS device. ", kAsk,
                              torch_commit(),
                              ". Please note, that distributed operators can not fall back to CPU");
  if (!fallback_is_enabled() && ledger::on()) {
    if (ledger::finds_all()) return run_on_host(op, stack, ledger::Kind::kMissing);
    ledger::add(ledger::Kind::kMissing, c10::toString(name));
  }
  TORCH_CHECK_NOT_IMPLEMENTED(
      fallback_is_enabled(), "The operator '", name,
      "' is not currently implemented for the MPS device. ", kAsk, torch_commit(),
      ". As a temporary fix, you can set the environment variable "
      "`PYTORCH_ENABLE_MPS_FALLBACK=1` to use the CPU as a fallback for this op. WARNING: this "
      "will be slower than running natively on MPS.");
  always_on_cpu(op, keys, stack);
}

}  // namespace openmps
