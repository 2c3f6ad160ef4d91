// Objects of other libraries that get another virtual function: a copy of their virtual table, as
// the Itanium C++ ABI lays it, in which one slot is ours.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>

namespace openmps {

inline bool is_code(const void* address) {
  struct Search {
    uintptr_t address;
    bool found;
  } search{reinterpret_cast<uintptr_t>(address), false};
  const auto look = [](dl_phdr_info* library, size_t, void* data) {
    auto& wanted = *static_cast<Search*>(data);
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const auto& segment = library->dlpi_phdr[i];
      const auto begin = library->dlpi_addr + segment.p_vaddr;
      if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 && wanted.address >= begin &&
          wanted.address < begin + segment.p_memsz) {
        wanted.found = true;
      }
    }
    return wanted.found ? 1 : 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

// How many functions the table of `object` has. Its length is recorded nowhere: it ends where
// something else begins than the address of code, as every table does (the next one begins with an
// offset and a type).
inline size_t count_virtual_functions(const void* object) {
  constexpr size_t kMost = 1024;
  const auto* table = *static_cast<void* const* const*>(object);
  size_t count = 0;
  while (count < kMost && is_code(table[count])) ++count;
  return count;
}

// The slot of a virtual member function.
template <class Member>
size_t virtual_slot(Member member) {
  // A pointer to a virtual member function holds 1 + its offset in the table. arm64 keeps the 1,
  // which says that it is virtual, in the other word.
  struct {
    ptrdiff_t pointer;
    ptrdiff_t adjustment;
  } raw;
  static_assert(sizeof(raw) == sizeof(member), "unexpected C++ ABI");
  std::memcpy(&raw, &member, sizeof(raw));
#if defined(__aarch64__)
  constexpr ptrdiff_t kVirtual = 0;
#else
  constexpr ptrdiff_t kVirtual = 1;
#endif
  return static_cast<size_t>(raw.pointer - kVirtual) / sizeof(void*);
}

// From now on `object` calls `function` in that slot. The copy is never freed.
inline void replace_virtual_function(void* object, size_t slot, void* function) {
  const auto count = count_virtual_functions(object);
  if (slot >= count) throw std::out_of_range("a virtual table is shorter than its interface");
  constexpr size_t kBefore = 2;  // offset to top and type info belong to the table
  auto**& table = *static_cast<void***>(object);
  auto** copy = new void*[kBefore + count];
  std::memcpy(copy, table - kBefore, (kBefore + count) * sizeof(void*));
  copy[kBefore + slot] = function;
  table = copy + kBefore;
}

}  // namespace openmps
