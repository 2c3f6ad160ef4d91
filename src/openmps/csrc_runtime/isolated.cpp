#include "isolated.h"

#include "slots.h"

namespace openmps {

namespace {

Slots slots(kRuntimePlaces);

}  // namespace

char* map_isolated(size_t bytes, bool closed) {
  const int protection = closed ? PROT_NONE : PROT_READ | PROT_WRITE;
  const int flags = closed ? MAP_NORESERVE : 0;
  if (char* place = slots.map(bytes, protection, flags)) return place;
  // No place is left: among other memory is better than not at all.
  void* anywhere = mmap(nullptr, bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return anywhere == MAP_FAILED ? nullptr : static_cast<char*>(anywhere);
}

void unmap_isolated(void* memory, size_t bytes) {
  if (slots.has(memory)) {
    slots.unmap(memory, bytes);
  } else {
    munmap(memory, bytes);
  }
}

}  // namespace openmps

void* openmps_map_isolated(uint64_t bytes) { return openmps::map_isolated(bytes); }

void openmps_unmap_isolated(void* memory, uint64_t bytes) {
  openmps::unmap_isolated(memory, bytes);
}
