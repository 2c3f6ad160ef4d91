// Registers kernels for mps at activation. Whoever comes first for an operator stays: the engine,
// then operators/; what is left has the boxed kernel (dispatch/boxed.h). Kernels that no engine
// replaces are registered with TORCH_LIBRARY_IMPL instead, when the core is loaded.
#pragma once

#include <torch/library.h>

#include <string>
#include <unordered_set>
#include <utility>

namespace openmps {

class Registrar {
 public:
  // `name` is "add.Tensor" or "aten::add.Tensor".
  template <class Function>
  bool impl(const std::string& name, Function&& function) {
    const bool is_first = taken_.insert(without_namespace(name)).second;
    if (is_first) library_.impl(name.c_str(), std::forward<Function>(function));
    return is_first;
  }

  // For operators that are made of others and record their own gradients.
  template <class Function>
  void impl_with_autograd(const std::string& name, const Function& function) {
    if (impl(name, function)) autograd_.impl(name.c_str(), function);
  }
  template <class Function>
  void impl_autograd(const std::string& name, const Function& function) {
    autograd_.impl(name.c_str(), function);
  }

 private:
  static std::string without_namespace(const std::string& name) {
    const auto colons = name.find("::");
    return colons == std::string::npos ? name : name.substr(colons + 2);
  }

  static torch::Library& new_library(c10::DispatchKey key) {
    // Registrations last as long as their library object: these live for ever.
    return *new torch::Library(torch::Library::IMPL, "aten", key, __FILE__, __LINE__);
  }

  torch::Library& library_ = new_library(c10::DispatchKey::MPS);
  torch::Library& autograd_ = new_library(c10::DispatchKey::AutogradMPS);
  std::unordered_set<std::string> taken_;
};

}  // namespace openmps
