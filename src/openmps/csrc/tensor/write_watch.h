// Storages whose bytes somebody knows something about, for as long as nobody writes to them.
// Whoever makes a backing view to write through says so here; that is one load where nobody
// listens.
#pragma once

#include <c10/core/StorageImpl.h>

#include <array>
#include <atomic>

namespace openmps {

inline constexpr size_t kWriteBuckets = 1024;
// How many storages of a bucket are watched.
inline std::array<std::atomic<uint16_t>, kWriteBuckets> g_watched{};
inline void (*g_written)(const c10::StorageImpl& mps) = nullptr;

inline std::atomic<uint16_t>& watchers_of(const c10::StorageImpl* mps) {
  constexpr unsigned kSmallest = 7;  // bits that are alike in all addresses of such objects
  return g_watched[(reinterpret_cast<uintptr_t>(mps) >> kSmallest) % kWriteBuckets];
}

inline void about_to_write(const c10::StorageImpl& mps) {
  if (C10_UNLIKELY(watchers_of(&mps).load(std::memory_order_relaxed) != 0)) g_written(mps);
}

}  // namespace openmps
