// One operator call, seen from both sides: turns mps arguments into backing ones, and what comes
// back into mps. Remembers which is which, so that a result that is an argument, or a view of one,
// comes back as that argument or as a view of its mps storage.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/util/SmallVector.h>

#include "tensor/header.h"

namespace openmps {

class Call {
 public:
  // `op` names the operator in error texts and must outlive the call.
  explicit Call(const std::string& op) : op_(op) {}
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call();

  at::Tensor to_backing(const at::Tensor& argument, bool written = false);
  at::Tensor to_mps(at::Tensor result);

  void to_backing(c10::IValue& argument, bool written);
  void to_mps(c10::IValue& result);

  // Carries resizes and storage swaps over to the written arguments.
  void settle() { settle_all(/*failed=*/false); }

  // Elements of the first mps argument: how far a random operator moves its generator.
  int64_t elements() const { return elements_; }

 private:
  struct Argument {
    at::Tensor mps;
    at::Tensor backing;
    bool written;
    // Of the view, if it is one of a list: kernels of lists bump it themselves.
    std::optional<int64_t> version;
  };
  // Of storages that are not each other's twins.
  struct StoragePair {
    c10::Storage mps;
    c10::Storage backing;
  };

  // The backing view, which stays valid until the next argument.
  const at::Tensor& add(at::Tensor argument, bool written);
  Argument* find(const at::Tensor& argument);
  c10::Storage storage_to_backing(const c10::Storage& mps);
  c10::Storage storage_to_mps(const c10::Storage& backing);
  // Runs in the destructor too: an operator that throws half-way leaves no mps tensor on freed
  // bytes, and none whose shape has grown without its bytes.
  void settle_all(bool failed);
  void settle(const Argument& argument, bool failed);

  const std::string& op_;
  c10::SmallVector<Argument, 4> arguments_;
  c10::SmallVector<StoragePair, 4> storages_;
  int64_t elements_ = 0;
  bool settled_ = false;
};

// Throws PyTorch's text for operators that mix devices, unless `op` is known to take CPU tensors
// beside mps ones. A CPU tensor without dimensions passes as a scalar, unless it is written to.
void check_same_device(const std::string& op, const at::Tensor& other, bool written);

// The elements of an argument of type Tensor?[]. TorchScript passes a plain list of tensors there.
std::vector<std::optional<at::Tensor>> optional_tensors(const c10::IValue& list);

}  // namespace openmps
