// An NVIDIA GPU behind mps.
#include "engine/accelerator_engine.h"
#include "engine/cuda/attention.h"
#include "engine/cuda/autocast.h"
#include "engine/cuda/driver.h"
#include "engine/cuda/errors.h"
#include "engine/cuda/index_guards.h"
#include "engine/cuda/kernel_launch.h"
#include "engine/cuda/operators.h"

namespace openmps {
namespace {

class CudaEngine final : public AcceleratorEngine {
 public:
  const char* name() const override { return "cuda"; }
  c10::Device device() const override { return {c10::kCUDA, 0}; }

  void copy_bytes(void* to, const void* from, size_t bytes) override {
    cuda_driver::copy(to, from, bytes);
  }
  // cuBLAS, if it is a thread's first work, would warn of a missing context.
  void prepare_thread() override {
    if (g_engine_started) cuda_driver::enter_context();
  }

  bool is_device_failure(const c10::Error& error) const override { return is_cuda_failure(error); }
  [[noreturn]] void rethrow(const c10::Error& error) const override { rethrow_cuda_error(error); }

  at::Tensor check_indices(const at::Tensor& index, const IndexBounds& bounds,
                           c10::function_ref<IndexErrorText()> text) override {
    return checked_indices(index, bounds, text);
  }
  void check_probabilities(at::Tensor& values, const std::string& text) override {
    values = checked_probabilities(values, text);
  }
  void check_assertion(const at::Tensor& assertion, const std::string& text) override {
    check_assertion_on_gpu(assertion, text);
  }

  void launch(void* code, uint32_t threads, c10::ArrayRef<KernelArgument> arguments) override {
    launch_on_cuda(code, threads, arguments);
  }

  void register_operators(Registrar& registrar) override { register_cuda_operators(registrar); }
  at::Tensor attention(const AttentionInputs& inputs) override { return attention_on_cuda(inputs); }
  bool has_fused_inference_attention(const AttentionInputs& inputs) const override {
    return has_fused_inference_attention_on_cuda(inputs);
  }
  at::Tensor fused_inference_attention(const AttentionInputs& inputs) override {
    return fused_inference_attention_on_cuda(inputs);
  }
  void take_batch_norms_lazily(bool on) override { openmps::take_batch_norms_lazily(on); }

  bool narrows_lstm() const override { return takes_batch_norms_lazily(); }

  bool loses_channels_last(const std::string& op) const override {
    return op == "aten::max_unpool2d" || op == "aten::max_unpool3d";
  }
  // CUDA wants these on its own device.
  bool takes_cpu_scalars(const std::string& op) const override {
    return op.rfind("aten::clamp", 0) != 0;
  }
  // Between two devices CUDA forgets it of what is not contiguous.
  bool copies_resolve_conjugates() const override { return false; }
};

const bool g_cuda_registered = register_engine(new CudaEngine());

}  // namespace
}  // namespace openmps
