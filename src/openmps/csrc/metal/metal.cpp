#include "metal/metal.h"

#include <c10/util/Exception.h>

#include "engine/engine.h"
#include "metal/encoder.h"
#include "metal/iterators.h"
#include "engine/reports.h"
#include "metal/shader_calls.h"

namespace openmps {
namespace {

constexpr uint64_t kSimdWidth = 32;

MetalLibrary& metal_library(void* handle) { return *static_cast<MetalLibrary*>(handle); }
const MetalKernel& metal_kernel(const void* handle) {
  return *static_cast<const MetalKernel*>(handle);
}

// On a Mac an encoder belongs to the stream; each thread has one here, so that threads that encode
// at the same time do not have to wait for each other.
MetalEncoder& thread_encoder() {
  static thread_local MetalEncoder encoder;
  return encoder;
}

class MetalDevice final : public Metal {
 public:
  void* compile(const std::string& source, const std::vector<std::string>& parameters) override {
    return compile_metal(source, parameters);
  }
  std::vector<std::string> names(void* library) override { return metal_library(library).names(); }
  bool has(void* library, const std::string& name) override {
    return metal_library(library).has(name);
  }
  void* kernel(void* library, const std::string& name) override {
    return const_cast<MetalKernel*>(&metal_library(library).kernel(name));
  }

  uint64_t max_threads(const void* kernel) const override {
    return metal_kernel(kernel).max_threads;
  }
  uint64_t simd_width() const override { return kSimdWidth; }
  uint64_t static_bytes(const void* kernel) const override {
    return metal_kernel(kernel).static_bytes;
  }

  void begin(const void* kernel) override { thread_encoder().begin(metal_kernel(kernel)); }
  void set(unsigned index, const at::TensorBase& tensor) override {
    thread_encoder().set(index, tensor);
  }
  void set(unsigned index, const void* bytes, uint64_t size) override {
    TORCH_CHECK(size > 0);
    thread_encoder().set_copy(index, bytes, size);
  }
  void set_error_buffer(unsigned index) override {
    thread_encoder().set_address(index, report_buffer(), report_buffer_bytes());
  }

  void dispatch(uint64_t length, std::optional<uint64_t> group) override {
    const auto most = thread_encoder().kernel().max_threads;
    const auto threads = group.value_or(std::min(length, most));
    check_group(threads, most);
    thread_encoder().dispatch({length, 1, 1}, {threads, 1, 1});
  }

  void dispatch(c10::ArrayRef<uint64_t> lengths, c10::OptionalArrayRef<uint64_t> group) override {
    TORCH_CHECK(!lengths.empty() && lengths.size() < 4,
                "Dispatch dimensions must be less than 3 and non-empty");
    TORCH_CHECK(!group.has_value() || group->size() == lengths.size(),
                "size and group_size must have same number of dimensions");
    const auto most = thread_encoder().kernel().max_threads;
    MetalEncoder::Sizes grid{1, 1, 1};
    MetalEncoder::Sizes threads{group ? 1 : most, 1, 1};
    for (size_t axis = 0; axis < lengths.size(); ++axis) {
      grid[axis] = lengths[axis];
      if (group) threads[axis] = (*group)[axis];
    }
    check_group(threads[0] * threads[1] * threads[2], most);
    thread_encoder().dispatch(grid, threads);
  }

  void* address(const at::TensorBase& tensor) const override {
    if (tensor.mutable_data_ptr() != nullptr) engine().move_for_shaders(tensor.storage());
    return tensor.mutable_data_ptr();
  }

  void run_unary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                 const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                 std::optional<uint32_t> ilp_threshold, bool has_vec4) override {
    run_unary_kernel(metal_library(library), iter, name, alpha, alpha_type, ilp_threshold,
                     has_vec4);
  }
  void run_binary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                  const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type,
                  std::optional<c10::ScalarType> natural_type,
                  std::optional<uint32_t> ilp_threshold) override {
    run_binary_kernel(metal_library(library), iter, name, alpha, alpha_type, natural_type,
                      ilp_threshold);
  }
  void run_ternary(void* library, at::TensorIteratorBase& iter, const std::string& name,
                   const c10::Scalar* alpha, std::optional<c10::ScalarType> alpha_type) override {
    run_ternary_kernel(metal_library(library), iter, name, alpha, alpha_type);
  }
  void run_cast(void* library, std::string_view name, const void* source,
                c10::ScalarType source_type, void* target, c10::ScalarType target_type,
                uint32_t count, std::optional<uint32_t> ilp_threshold) override {
    run_cast_kernel(metal_library(library), name, source, source_type, target, target_type, count,
                    ilp_threshold);
  }

  void refuse_binary(const std::string& path) override {
    TORCH_CHECK(
        false, "Failed to load metallib", path.empty() ? "" : " from '" + path + "'",
        ": a binary Metal library holds machine code for Apple's GPUs, which only a Mac can "
        "run. Compile its source with DynamicMetalShaderLibrary instead.");
  }
  void refuse_bundled() override {
    TORCH_CHECK_NOT_IMPLEMENTED(
        false,
        "openmps does not have the Metal kernels that are part of PyTorch on a Mac "
        "(MetalShaderLibrary::getBundledLibrary). Compile your own with "
        "DynamicMetalShaderLibrary.");
  }

 private:
  static void check_group(uint64_t threads, uint64_t most) {
    TORCH_CHECK_VALUE(threads <= most, "Threadgroup size exceeds ", most, " limit");
  }
};

}  // namespace

Metal* connect_metal(const ShaderCalls* calls) {
  g_shader_calls = calls;
  static MetalDevice device;
  return &device;
}

}  // namespace openmps
