// The mps side of an operator's result. Every operator has one: its memory is reused.
#pragma once

#include <c10/core/StorageImpl.h>
#include <c10/core/impl/COWDeleter.h>

namespace openmps {

struct ResultStorage final : c10::StorageImpl {
  using StorageImpl::StorageImpl;
  ~ResultStorage() override {
    if (lazy != nullptr) drop_lazy();
  }
  void release_resources() override {
    if (lazy != nullptr) drop_lazy();
    StorageImpl::release_resources();
  }

  static void* operator new(size_t bytes);
  static void operator delete(void* memory) noexcept;

  // What this storage stands for while it has no bytes of its own (lazy_bytes.h).
  c10::impl::cow::COWDeleterContext* lazy = nullptr;
  void drop_lazy() noexcept;
};

}  // namespace openmps
