#include "padding.h"

#include <sys/mman.h>
#include <unistd.h>

#include "api.h"

namespace openmps {

namespace {

constexpr uint64_t kAfter = 64 * 1024;
constexpr uint64_t kBefore = 4 * 1024;

const uintptr_t page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));

// Near, but not inside: a buffer's own page that is missing was taken away, and is a fault.
bool is_near(uint64_t begin, uint64_t bytes, uint64_t address) {
  if (!bytes) return false;
  if (address < begin) return begin - address <= kBefore;
  const uint64_t offset = address - begin;
  return offset >= bytes && offset - bytes < kAfter;
}

bool is_near_any(const Dispatch& dispatch, uint64_t address) {
  for (unsigned i = 0; i < kBuffers; ++i) {
    const uint64_t begin = reinterpret_cast<uint64_t>(dispatch.buffers[i]);
    if (is_near(begin, dispatch.buffer_bytes[i], address)) return true;
  }
  for (uint64_t i = 0; i < dispatch.extent_count; ++i) {
    if (is_near(dispatch.extents[i].address, dispatch.extents[i].bytes, address)) return true;
  }
  return false;
}

}  // namespace

bool Padding::provide(const Dispatch& dispatch, uintptr_t address) {
  if (address < page_bytes || !is_near_any(dispatch, address)) return false;
  const uintptr_t page = address & ~(page_bytes - 1);

  // Handlers run with all signals blocked, so whoever holds this goes on to release it.
  while (lock_.test_and_set(std::memory_order_acquire)) {
  }
  bool provided = false;
  for (uint32_t i = 0; i < count_ && !provided; ++i) provided = pages_[i] == page;
  if (!provided && count_ < kMost) {
    void* wanted = reinterpret_cast<void*>(page);
    void* got = mmap(wanted, page_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == wanted) {
      pages_[count_++] = page;
      provided = true;
    } else if (got != MAP_FAILED) {
      munmap(got, page_bytes);  // Linux before 4.17 takes the address as a hint only
    }
  }
  lock_.clear(std::memory_order_release);
  return provided;
}

uint32_t Padding::remove() {
  for (uint32_t i = 0; i < count_; ++i) {
    munmap(reinterpret_cast<void*>(pages_[i]), page_bytes);
  }
  return count_;
}

}  // namespace openmps
