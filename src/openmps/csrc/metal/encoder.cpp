#include "metal/encoder.h"

#include <c10/util/Exception.h>
#include <c10/util/SmallVector.h>

#include <algorithm>
#include <cstring>

#include "engine/engine.h"
#include "tensor/write_watch.h"

namespace openmps {

const ShaderCalls* g_shader_calls = nullptr;

namespace {

constexpr size_t kMostSetBytes = 4096;  // what Metal's setBytes takes
constexpr size_t kMetalAlignment = 64;

// As shader/extension.py numbers them.
enum Failure : uint32_t { kFine, kRuntime, kSyntax, kValue, kType, kIndex, kNotImplemented };

[[noreturn]] void throw_failure(const ShaderAnswer& answer) {
  const std::string text(answer.text, answer.text_bytes);
  const c10::SourceLocation here{__func__, __FILE__, static_cast<uint32_t>(__LINE__)};
  switch (answer.failure) {
    case kSyntax:
      throw c10::SyntaxError(here, text);
    case kValue:
      throw c10::ValueError(here, text);
    case kType:
      throw c10::TypeError(here, text);
    case kIndex:
      throw c10::IndexError(here, text);
    case kNotImplemented:
      throw c10::NotImplementedError(here, text);
    default:
      throw c10::Error(here, text);
  }
}

template <class... Declared, class... Given>
ShaderAnswer ask(void (*call)(ShaderAnswer*, Declared...), const Given&... arguments) {
  ShaderAnswer answer{};
  call(&answer, arguments...);
  if (answer.failure != kFine) throw_failure(answer);
  return answer;
}

std::vector<std::string> split_names(const ShaderAnswer& answer) {
  std::vector<std::string> names;
  std::string_view rest(answer.text, answer.text_bytes);
  while (!rest.empty()) {
    const auto end = std::min(rest.find('\0'), rest.size());
    names.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return names;
}

}  // namespace

MetalLibrary* compile_metal(const std::string& source, const std::vector<std::string>& parameters) {
  auto text = source;
  for (const auto& parameter : parameters) text.append(1, '\0').append(parameter);
  const auto compiled = ask(g_shader_calls->compile, text.data(), text.size(), parameters.size());
  const auto number = compiled.numbers[0];
  return new MetalLibrary(number, split_names(ask(g_shader_calls->names, number)));
}

MetalLibrary::MetalLibrary(uint64_t number, std::vector<std::string> names)
    : number_(number), names_(std::move(names)), lookup_(names_.begin(), names_.end()) {}

const MetalKernel& MetalLibrary::kernel(const std::string& name) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = kernels_.find(name);
    if (found != kernels_.end()) return found->second;
  }
  // Not under the lock: it needs Python's, whose holder may be waiting for ours.
  const auto built = ask(g_shader_calls->kernel, number_, name.data(), name.size());
  const std::lock_guard<std::mutex> guard(mutex_);
  return kernels_
      .try_emplace(name, MetalKernel{name, built.numbers[0], built.numbers[1], built.numbers[2],
                                     built.numbers[3]})
      .first->second;
}

void MetalEncoder::begin(const MetalKernel& kernel) {
  kernel_ = &kernel;
  launch_ = {};
  copies_.clear();
}

const MetalKernel& MetalEncoder::kernel() const {
  TORCH_CHECK(kernel_ != nullptr,
              "a Metal kernel was given arguments or dispatched before startEncoding(). Call "
              "startEncoding() first, inside runCommandBlock()");
  return *kernel_;
}

void MetalEncoder::set_address(unsigned index, const void* address, size_t size) {
  TORCH_CHECK(index < kMetalBuffers, "a Metal kernel has buffers 0 to ", kMetalBuffers - 1,
              ", but '", kernel().name, "' was given an argument at index ", index);
  launch_.addresses[index] = address;
  launch_.sizes[index] = size;
  launch_.copied &= ~(uint64_t{1} << index);
  launch_.bound = std::max<uint64_t>(launch_.bound, index + 1);
}

void MetalEncoder::set_copy(unsigned index, const void* bytes, size_t size) {
  TORCH_CHECK_VALUE(size <= kMostSetBytes,
                    "an argument that is copied to a Metal kernel has at most ", kMostSetBytes,
                    " bytes, but '", kernel().name, "' was given ", size, " at index ", index,
                    ". Put the values into a tensor on mps and pass that");
  // Kernels may read a little further than a value is long: a uint3 has 16 bytes.
  auto& room = copies_.emplace_back(size + 2 * kMetalAlignment);
  const auto start = reinterpret_cast<uintptr_t>(room.data());
  const auto aligned = (start + kMetalAlignment - 1) / kMetalAlignment * kMetalAlignment;
  auto* address = room.data() + (aligned - start);
  if (size != 0) std::memcpy(address, bytes, size);
  set_address(index, address, std::max<size_t>(size, 16));
  launch_.copied |= uint64_t{1} << index;
}

void MetalEncoder::set(unsigned index, const at::TensorBase& tensor) {
  if (!tensor.is_mps()) {
    TORCH_CHECK(tensor.is_cpu() && tensor.dim() == 0, "Passed ",
                tensor.is_cpu() ? "CPU" : c10::DeviceTypeName(tensor.device().type()),
                " tensor to MPS op");
    const at::Tensor host(tensor);
    const auto type = tensor.scalar_type();
    const auto narrow = type == c10::kDouble          ? host.to(c10::kFloat)
                        : type == c10::kComplexDouble ? host.to(c10::kComplexFloat)
                                                      : host;
    set_copy(index, narrow.const_data_ptr(), narrow.element_size());
    return;
  }
  about_to_write(*tensor.storage().unsafeGetStorageImpl());
  if (tensor.mutable_data_ptr() != nullptr) engine().move_for_shaders(tensor.storage());
  const auto* address = static_cast<const char*>(tensor.mutable_data_ptr());
  TORCH_CHECK(address != nullptr || tensor.numel() == 0,
              "a Metal kernel was given a tensor without memory, such as a FakeTensor");
  const auto offset = static_cast<size_t>(tensor.storage_offset()) * tensor.element_size();
  set_address(index, address, tensor.storage().nbytes() - offset);
}

void MetalEncoder::set_tensors(at::TensorIteratorBase& iter) {
  // An iterator that was split starts in the middle of its tensors. It knows where they were when
  // it was made, so none may move before all have been asked.
  c10::SmallVector<std::ptrdiff_t, 4> offsets;
  for (int i = 0; i < iter.ntensors(); ++i) {
    const auto& tensor = iter.tensor_base(i);
    const auto* seen = tensor.is_mps() ? tensor.storage().data() : iter.data_ptr(i);
    offsets.push_back(static_cast<const char*>(iter.data_ptr(i)) - static_cast<const char*>(seen));
  }
  for (int i = 0; i < iter.ntensors(); ++i) {
    const auto& tensor = iter.tensor_base(i);
    if (!tensor.is_mps()) {
      set(i, tensor);
      continue;
    }
    about_to_write(*tensor.storage().unsafeGetStorageImpl());
    // Where its bytes are only now written (tensor/lazy_bytes.h), they lie elsewhere.
    tensor.storage().mutable_data();
    engine().move_for_shaders(tensor.storage());
    const auto* begin = static_cast<const char*>(tensor.storage().mutable_data());
    const auto offset = offsets[static_cast<size_t>(i)];
    set_address(i, begin + offset, tensor.storage().nbytes() - static_cast<size_t>(offset));
  }
}

void MetalEncoder::dispatch(uint64_t length) {
  dispatch({length, 1, 1}, {std::clamp<uint64_t>(length, 1, kernel().max_threads), 1, 1});
}

void MetalEncoder::dispatch_strided(at::TensorIteratorBase& iter) {
  const auto numel = static_cast<uint64_t>(iter.numel());
  if (kernel().axes == 1 || iter.ndim() == 0) return dispatch(numel);
  const auto inner = static_cast<uint64_t>(iter.shape()[0]);
  const auto middle = kernel().axes == 2 || iter.ndim() == 1
                          ? numel / inner
                          : static_cast<uint64_t>(iter.shape()[1]);
  const auto outer = numel / inner / middle;
  const auto most = kernel().max_threads;
  const auto x = std::min(inner, most);
  const auto y = std::clamp<uint64_t>(middle, 1, most / x);
  const auto z = std::clamp<uint64_t>(outer, 1, most / x / y);
  dispatch({inner, middle, outer}, {x, y, z});
}

void MetalEncoder::dispatch(const Sizes& grid, const Sizes& group) {
  const auto& launched = kernel();
  if (grid[0] == 0 || grid[1] == 0 || grid[2] == 0) return;
  for (size_t axis = 0; axis < 3; ++axis) {
    TORCH_CHECK_VALUE(grid[axis] <= UINT32_MAX && group[axis] != 0, "'", launched.name,
                      "' was dispatched with ", grid[axis], " threads along an axis, ", group[axis],
                      " of them in a threadgroup: a grid has at most 4294967295 along an axis, and "
                      "a threadgroup at least 1");
    launch_.grid[axis] = static_cast<uint32_t>(grid[axis]);
    launch_.group[axis] = static_cast<uint32_t>(group[axis]);
  }
  ask(g_shader_calls->launch, launched.number, &launch_);
}

}  // namespace openmps
