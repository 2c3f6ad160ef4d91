// mps storages whose bytes are written when somebody asks for them. Nobody makes such storages
// unless a part of openmps that does is switched on (engine/cuda/lazy_bfloat16.h): then it says
// here how they are read and written.
#pragma once

#include <ATen/core/Tensor.h>

namespace openmps {

struct LazyBytes {
  // Whether there are any now: one load.
  bool (*exist)();
  // Writes the bytes of a storage, unless they are there. Any thread.
  void (*write)(const c10::Storage& mps);
  // What a tensor is computed from, as a backing tensor of its shape to be read only, if it has the
  // same dtype; undefined if the bytes are there.
  at::Tensor (*source)(const at::Tensor& mps);
  // Writes the bytes of what `token` stands for somewhere else; false if it is no token.
  bool (*copy)(void* destination, const void* token, size_t bytes);
};

extern const LazyBytes* g_lazy_bytes;  // nullptr: there is nothing of the kind

inline bool lazy_bytes_exist() {
  return C10_UNLIKELY(g_lazy_bytes != nullptr) && g_lazy_bytes->exist();
}
inline void write_lazy_bytes(const c10::Storage& mps) {
  if (lazy_bytes_exist()) g_lazy_bytes->write(mps);
}
inline at::Tensor lazy_source(const at::Tensor& mps) {
  return lazy_bytes_exist() ? g_lazy_bytes->source(mps) : at::Tensor();
}
inline bool copy_lazy_bytes(void* destination, const void* token, size_t bytes) {
  return lazy_bytes_exist() && g_lazy_bytes->copy(destination, token, bytes);
}

}  // namespace openmps
