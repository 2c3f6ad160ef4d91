// metal::array.
#pragma once

#include "traits.h"

namespace msl {
namespace metal {

template <class T, size_t N>
struct array {
  T openmps_elements[N ? N : 1];

  OPENMPS_INLINE constexpr T& operator[](size_t i) { return openmps_elements[i]; }
  OPENMPS_INLINE constexpr const T& operator[](size_t i) const { return openmps_elements[i]; }
  OPENMPS_INLINE constexpr T& at(size_t i) { return openmps_elements[i]; }
  OPENMPS_INLINE constexpr const T& at(size_t i) const { return openmps_elements[i]; }
  OPENMPS_INLINE constexpr T& front() { return openmps_elements[0]; }
  OPENMPS_INLINE constexpr const T& front() const { return openmps_elements[0]; }
  OPENMPS_INLINE constexpr T& back() { return openmps_elements[N - 1]; }
  OPENMPS_INLINE constexpr const T& back() const { return openmps_elements[N - 1]; }
  OPENMPS_INLINE constexpr T* data() { return openmps_elements; }
  OPENMPS_INLINE constexpr const T* data() const { return openmps_elements; }
  OPENMPS_INLINE constexpr T* begin() { return openmps_elements; }
  OPENMPS_INLINE constexpr const T* begin() const { return openmps_elements; }
  OPENMPS_INLINE constexpr T* end() { return openmps_elements + N; }
  OPENMPS_INLINE constexpr const T* end() const { return openmps_elements + N; }
  OPENMPS_INLINE constexpr void fill(const T& value) {
    for (size_t i = 0; i < N; ++i) openmps_elements[i] = value;
  }
  static constexpr size_t size() { return N; }
  static constexpr size_t max_size() { return N; }
  static constexpr bool empty() { return N == 0; }
};

template <class T, class... U>
array(T, U...) -> array<T, 1 + sizeof...(U)>;

template <class T, size_t N>
OPENMPS_INLINE constexpr bool operator==(const array<T, N>& a, const array<T, N>& b) {
  for (size_t i = 0; i < N; ++i) {
    if (!(a[i] == b[i])) return false;
  }
  return true;
}
template <class T, size_t N>
OPENMPS_INLINE constexpr bool operator!=(const array<T, N>& a, const array<T, N>& b) {
  return !(a == b);
}

}  // namespace metal
}  // namespace msl
