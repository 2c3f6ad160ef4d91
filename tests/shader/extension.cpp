// A C++ extension as users write them: it knows PyTorch's header and nothing of openmps.
#include <ATen/TensorIterator.h>
#include <ATen/native/mps/MetalShaderLibrary.h>
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#include <torch/version.h>

#define HAS_NEWEST_FORM (TORCH_VERSION_MAJOR > 2 || TORCH_VERSION_MINOR >= 13)
#define HAS_VEC4 (TORCH_VERSION_MAJOR == 2 && TORCH_VERSION_MINOR == 12)

using namespace at::native::mps;
using at::Tensor;

// Destroyed when the process ends, after Python is gone.
static std::vector<std::unique_ptr<MetalShaderLibrary>> libraries;

int64_t open_library(const std::string& source) {
  libraries.push_back(std::make_unique<DynamicMetalShaderLibrary>(source));
  return static_cast<int64_t>(libraries.size()) - 1;
}

void open_bundled() { MetalShaderLibrary::getBundledLibrary(); }

std::vector<std::string> names(int64_t library) { return libraries[library]->getFunctionNames(); }

std::vector<uint64_t> limits(int64_t library, const std::string& name) {
  const auto kernel = libraries[library]->getKernelFunction(name);
  return {kernel->getMaxThreadsPerThreadgroup(), kernel->getThreadExecutionWidth(),
          kernel->getStaticThreadGroupMemoryLength()};
}

// out, a list of floats, a number; then as many threads as asked for
void fill(int64_t library, const std::string& name, const Tensor& out,
          const std::vector<float>& values, int64_t number, const std::vector<uint64_t>& threads,
          const std::optional<std::vector<uint64_t>>& group) {
  auto* kernel = libraries[library]->getCachedKernelFunctionPtr(name);
  kernel->runCommandBlock([&] {
    kernel->startEncoding();
    kernel->setArg(0, out);
    kernel->setArg(1, values);
    kernel->setArg(2, number);
    if (threads.size() == 1) {
      kernel->dispatch(threads[0], group ? std::optional<uint64_t>((*group)[0]) : std::nullopt);
    } else {
      kernel->dispatch(threads, group ? c10::OptionalArrayRef<uint64_t>(*group) : std::nullopt);
    }
  });
}

void complain(int64_t library, const std::string& name, int64_t threads) {
  const auto kernel = libraries[library]->getKernelFunction(name);
  kernel->runCommandBlock([&] {
    kernel->startEncoding();
    kernel->setErrorBufferIndex(0);
    kernel->dispatch(threads);
  });
}

void forget_to_start(int64_t library, const std::string& name, const Tensor& out) {
  std::exception_ptr error;
  // A thread that has never encoded anything.
  std::thread([&] {
    try {
      libraries[library]->getKernelFunction(name)->dispatch(1);
    } catch (...) {
      error = std::current_exception();
    }
  }).join();
  if (error) std::rethrow_exception(error);
}

void fill_by_address(int64_t library, const std::string& name, const Tensor& out) {
  const auto kernel = libraries[library]->getKernelFunction(name);
  kernel->startEncoding();
  kernel->setArg(0, reinterpret_cast<uint64_t>(get_tensor_gpu_address(out)));
  kernel->dispatch(out.numel());
}

// A source with a parameter.
void fill_with(const std::string& source, const std::string& value, const Tensor& out) {
  MetalShaderLibrary library(source, 1);
  MetalKernelFunction kernel(library.getPipelineStateForFunc("f", {value}),
                             library.getMTLFunction("f", {value}));
  kernel.startEncoding();
  kernel.setArg(0, out);
  kernel.dispatch(out.numel());
}

static at::TensorIterator iterator(const std::vector<Tensor>& inputs,
                                   const std::optional<Tensor>& out) {
  at::TensorIteratorConfig config;
  config.add_owned_output(out.value_or(Tensor()))
      .promote_inputs_to_common_dtype(true)
      .allow_cpu_scalars(true);
  for (const auto& input : inputs) config.add_owned_const_input(input);
  if (out) config.cast_common_dtype_to_outputs(true);
  return config.build();
}

static std::optional<c10::Scalar> scalar(std::optional<double> value) {
  return value ? std::optional<c10::Scalar>(*value) : std::nullopt;
}

Tensor unary(int64_t library, const std::string& name, const Tensor& input,
             const std::optional<Tensor>& out, std::optional<double> alpha,
             std::optional<uint32_t> ilp) {
  auto iter = iterator({input}, out);
#if HAS_NEWEST_FORM
  libraries[library]->exec_unary_kernel(iter, name, scalar(alpha), std::nullopt, ilp);
#else
  TORCH_CHECK(!ilp, "this torch knows nothing of it");
  libraries[library]->exec_unary_kernel(iter, name, scalar(alpha));
#endif
  return iter.output();
}

#if HAS_VEC4
Tensor unary_vec4(int64_t library, const std::string& name, const Tensor& input,
                  std::optional<double> alpha) {
  auto iter = iterator({input}, std::nullopt);
  libraries[library]->exec_unary_kernel(iter, name, scalar(alpha), std::nullopt, true);
  return iter.output();
}
#endif

Tensor binary(int64_t library, const std::string& name, const Tensor& input, const Tensor& other,
              const std::optional<Tensor>& out, std::optional<double> alpha,
              std::optional<at::ScalarType> natural, std::optional<uint32_t> ilp) {
  auto iter = iterator({input, other}, out);
#if HAS_NEWEST_FORM
  libraries[library]->exec_binary_kernel(iter, name, scalar(alpha), std::nullopt, natural, ilp);
#else
  TORCH_CHECK(!natural && !ilp, "this torch knows nothing of it");
  libraries[library]->exec_binary_kernel(iter, name, scalar(alpha));
#endif
  return iter.output();
}

Tensor ternary(int64_t library, const std::string& name, const Tensor& a, const Tensor& b,
               const Tensor& c) {
  auto iter = iterator({a, b, c}, std::nullopt);
  libraries[library]->exec_ternary_kernel(iter, name);
  return iter.output();
}

#if HAS_NEWEST_FORM
bool has(int64_t library, const std::string& name) { return libraries[library]->hasFunction(name); }

void open_binary(const std::string& path) { PrecompiledMetalShaderLibrary library(path); }

void convert(int64_t library, const std::string& name, const Tensor& from, const Tensor& to,
             std::optional<uint32_t> ilp) {
  const auto offset = [](const Tensor& t) { return t.storage_offset() * t.element_size(); };
  libraries[library]->exec_unary_kernel_raw(name, from.storage().mutable_data(), offset(from),
                                            from.scalar_type(), to.storage().mutable_data(),
                                            offset(to), to.scalar_type(), from.numel(), ilp);
}
#endif
