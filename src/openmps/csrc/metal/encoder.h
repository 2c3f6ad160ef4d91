// One launch of a Metal kernel, while it is put together.
#pragma once

#include <ATen/TensorIterator.h>
#include <ATen/core/Tensor.h>

#include <array>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "metal/shader_calls.h"

namespace openmps {

struct MetalKernel {
  std::string name;
  uint64_t number;
  uint64_t max_threads;
  uint64_t static_bytes;
  uint64_t axes;  // how many its position in the grid has: 1 to 3
};

class MetalLibrary {
 public:
  MetalLibrary(uint64_t number, std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  bool has(const std::string& name) const { return lookup_.count(name) != 0; }
  // Throws natively's error for a name that it has not. Any thread may call it.
  const MetalKernel& kernel(const std::string& name);

 private:
  const uint64_t number_;
  const std::vector<std::string> names_;
  const std::unordered_set<std::string> lookup_;
  std::mutex mutex_;
  std::unordered_map<std::string, MetalKernel> kernels_;
};

// Compiles, or throws what PyTorch on a Mac would.
MetalLibrary* compile_metal(const std::string& source, const std::vector<std::string>& parameters);

class MetalEncoder {
 public:
  using Sizes = std::array<uint64_t, 3>;

  void begin(const MetalKernel& kernel);
  const MetalKernel& kernel() const;

  void set(unsigned index, const at::TensorBase& tensor);
  void set_copy(unsigned index, const void* bytes, size_t size);
  void set_address(unsigned index, const void* address, size_t size);
  // Output and inputs, from buffer 0 on.
  void set_tensors(at::TensorIteratorBase& iter);

  template <class T>
  void set_value(unsigned index, const T& value) {
    set_copy(index, &value, sizeof(T));
  }
  void set_list(unsigned index, c10::IntArrayRef values) {
    set_copy(index, values.data(), values.size() * sizeof(int64_t));
  }

  // In threadgroups as large as they can be.
  void dispatch(uint64_t length);
  // One thread for each element, along as many axes as the kernel looks at.
  void dispatch_strided(at::TensorIteratorBase& iter);
  void dispatch(const Sizes& grid, const Sizes& group);

 private:
  const MetalKernel* kernel_ = nullptr;
  ShaderLaunch launch_{};
  std::vector<std::vector<char>> copies_;
};

}  // namespace openmps
