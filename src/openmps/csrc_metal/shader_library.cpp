// The classes of ATen/native/mps/MetalShaderLibrary.h, which only Mac builds of torch contain. This
// library is loaded so that extensions find them, and for that it must not depend on torch's own
// libraries, whose symbols would become visible to everything else with it. So it only forwards.
//
// The header says what to define; device/extensions.py reads it and defines OPENMPS_HAS_...
#pragma GCC visibility push(default)
#include <ATen/native/mps/MetalShaderLibrary.h>
#pragma GCC visibility pop

#include <mutex>

#include "../csrc/metal/metal.h"

namespace {

openmps::Metal* g_metal = nullptr;

// Guards what libraries keep. Never held while compiling, which may wait for Python's lock.
std::mutex g_mutex;

const c10::Scalar* pointer_to(const std::optional<c10::Scalar>& scalar) {
  return scalar ? &*scalar : nullptr;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void openmps_connect_metal(void* metal) {
  g_metal = static_cast<openmps::Metal*>(metal);
}

namespace at::native::mps {

void* get_tensor_gpu_address(const at::TensorBase& tensor) { return g_metal->address(tensor); }

MetalKernelFunction::MetalKernelFunction(MTLComputePipelineState_t cps_, MTLFunction_t f_)
    : cps(cps_), func(f_) {}
MetalKernelFunction::~MetalKernelFunction() = default;

uint64_t MetalKernelFunction::getMaxThreadsPerThreadgroup() const {
  return g_metal->max_threads(cps);
}
uint64_t MetalKernelFunction::getThreadExecutionWidth() const { return g_metal->simd_width(); }
uint64_t MetalKernelFunction::getStaticThreadGroupMemoryLength() const {
  return g_metal->static_bytes(cps);
}
void MetalKernelFunction::runCommandBlock(std::function<void(void)> f) { f(); }
void MetalKernelFunction::startEncoding() { g_metal->begin(cps); }
void MetalKernelFunction::setArg(unsigned idx, const at::TensorBase& t) { g_metal->set(idx, t); }
void MetalKernelFunction::setArg(unsigned idx, const void* ptr, uint64_t size) {
  g_metal->set(idx, ptr, size);
}
void MetalKernelFunction::setErrorBufferIndex(unsigned idx) { g_metal->set_error_buffer(idx); }
void MetalKernelFunction::dispatch(uint64_t length, std::optional<uint64_t> groupSize) {
  g_metal->dispatch(length, groupSize);
}
void MetalKernelFunction::dispatch(c10::ArrayRef<uint64_t> length,
                                   c10::OptionalArrayRef<uint64_t> groupSize) {
  g_metal->dispatch(length, groupSize);
}

MetalShaderLibrary::~MetalShaderLibrary() = default;

MTLLibrary_t MetalShaderLibrary::compileLibrary(const std::string& src) {
  return g_metal->compile(src, {});
}

MTLLibrary_t MetalShaderLibrary::getLibrary() {
  {
    const std::lock_guard<std::mutex> guard(g_mutex);
    if (library != nullptr) return library;
  }
  auto* compiled = compileLibrary(shaderSource);
  const std::lock_guard<std::mutex> guard(g_mutex);
  if (library == nullptr) library = compiled;
  return library;
}

MTLLibrary_t MetalShaderLibrary::getLibrary(const std::initializer_list<std::string>& params) {
  std::string key;
  for (const auto& param : params) key.append(":").append(param);
  {
    const std::lock_guard<std::mutex> guard(g_mutex);
    const auto found = libMap.find(key);
    if (found != libMap.end()) return found->second;
  }
  auto* compiled = g_metal->compile(shaderSource, std::vector<std::string>(params));
  const std::lock_guard<std::mutex> guard(g_mutex);
  library = compiled;
  return libMap.try_emplace(key, compiled).first->second;
}

std::pair<MTLComputePipelineState_t, MTLFunction_t> MetalShaderLibrary::getLibraryPipelineState(
    MTLLibrary_t lib, const std::string& fname) {
  auto* kernel = g_metal->kernel(lib, fname);
  return {kernel, kernel};
}

std::vector<std::string> MetalShaderLibrary::getFunctionNames() {
  if (library == nullptr && nparams > 0) {
    throw std::runtime_error("Library must be initialized first");
  }
  return g_metal->names(nparams > 0 ? library : getLibrary());
}

std::shared_ptr<MetalKernelFunction> MetalShaderLibrary::getKernelFunction(
    const std::string& name) {
  const auto [state, function] = getLibraryPipelineState(getLibrary(), name);
  return std::make_shared<MetalKernelFunction>(state, function);
}

MetalKernelFunction* MetalShaderLibrary::getCachedKernelFunctionPtr(const std::string& name) {
  const auto [state, function] = getLibraryPipelineState(getLibrary(), name);
  const std::lock_guard<std::mutex> guard(g_mutex);
  auto& cached = kernelCache[name];
  if (cached == nullptr) cached = std::make_unique<MetalKernelFunction>(state, function);
  return cached.get();
}

MetalShaderLibrary& MetalShaderLibrary::getBundledLibrary() {
  g_metal->refuse_bundled();
  static MetalShaderLibrary never("");
  return never;
}

#ifdef OPENMPS_HAS_FUNCTION
bool MetalShaderLibrary::hasFunction(const std::string& fname) {
  return g_metal->has(getLibrary(), fname);
}
#endif

void MetalShaderLibrary::exec_unary_kernel(TensorIteratorBase& iter, const std::string& name,
                                           const std::optional<c10::Scalar> alpha,
                                           const std::optional<c10::ScalarType> scalar_arg_type
#ifdef OPENMPS_HAS_UNARY_ILP
                                           ,
                                           const std::optional<uint32_t> ilp_threshold
#endif
#ifdef OPENMPS_HAS_UNARY_VEC4
                                           ,
                                           bool supports_vec4
#endif
) {
#ifndef OPENMPS_HAS_UNARY_ILP
  constexpr std::optional<uint32_t> ilp_threshold;
#endif
#ifndef OPENMPS_HAS_UNARY_VEC4
  constexpr bool supports_vec4 = false;
#endif
  g_metal->run_unary(getLibrary(), iter, name, pointer_to(alpha), scalar_arg_type, ilp_threshold,
                     supports_vec4);
}

void MetalShaderLibrary::exec_binary_kernel(
    TensorIteratorBase& iter, const std::string& name, const std::optional<c10::Scalar> alpha,
    const std::optional<c10::ScalarType> scalar_arg_type
#ifdef OPENMPS_HAS_NATURAL_OUTPUT
    ,
    const std::optional<c10::ScalarType> natural_output_dtype,
    const std::optional<uint32_t> ilp_threshold
#endif
) {
#ifndef OPENMPS_HAS_NATURAL_OUTPUT
  constexpr std::optional<c10::ScalarType> natural_output_dtype;
  constexpr std::optional<uint32_t> ilp_threshold;
#endif
  g_metal->run_binary(getLibrary(), iter, name, pointer_to(alpha), scalar_arg_type,
                      natural_output_dtype, ilp_threshold);
}

#ifdef OPENMPS_HAS_TERNARY_ALPHA
void MetalShaderLibrary::exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name,
                                             const std::optional<c10::Scalar> alpha,
                                             const std::optional<c10::ScalarType> scalar_arg_type) {
  g_metal->run_ternary(getLibrary(), iter, name, pointer_to(alpha), scalar_arg_type);
}
#else
void MetalShaderLibrary::exec_ternary_kernel(TensorIteratorBase& iter, const std::string& name) {
  g_metal->run_ternary(getLibrary(), iter, name, nullptr, std::nullopt);
}
#endif

#ifdef OPENMPS_HAS_UNARY_RAW
// A buffer's handle is its address, as it is what an mps storage's data() returns.
void MetalShaderLibrary::exec_unary_kernel_raw(OPENMPS_HAS_UNARY_RAW name, MTLBuffer_t src_buf,
                                               uint32_t src_offs_bytes, c10::ScalarType src_dtype,
                                               MTLBuffer_t dst_buf, uint32_t dst_offs_bytes,
                                               c10::ScalarType dst_dtype, uint32_t numel,
                                               const std::optional<uint32_t> ilp_threshold) {
  g_metal->run_cast(getLibrary(), name, static_cast<char*>(src_buf) + src_offs_bytes, src_dtype,
                    static_cast<char*>(dst_buf) + dst_offs_bytes, dst_dtype, numel, ilp_threshold);
}
#endif

DynamicMetalShaderLibrary::~DynamicMetalShaderLibrary() = default;

#ifdef OPENMPS_HAS_PRECOMPILED
PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(std::vector<uint8_t>)
    : MetalShaderLibrary("") {
  g_metal->refuse_binary("");
}
PrecompiledMetalShaderLibrary::PrecompiledMetalShaderLibrary(const std::string& path)
    : MetalShaderLibrary("") {
  g_metal->refuse_binary(path);
}
PrecompiledMetalShaderLibrary::~PrecompiledMetalShaderLibrary() = default;
#endif

}  // namespace at::native::mps
