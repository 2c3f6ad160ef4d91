// Stands in for <c10/metal/random.h> where the installed PyTorch is older than 2.13: the header of
// that name in 2.11 confuses the two halves of a product, which biases the numbers. Same names, and
// the numbers of 2.13.
#pragma once
#include <metal_stdlib>

namespace c10 {
namespace metal {

namespace detail {

inline float uint32_to_uniform_float(uint32_t word) {
  return float(word & 0x7fffffffu) * 4.6566127342e-10f;
}

inline uint2 high_and_low(ulong value) { return uint2(uint(value >> 32), uint(value)); }

}  // namespace detail

namespace philox4 {

// Philox4x32 with nine rounds, one fewer than its authors chose: so PyTorch counts them.
inline uint4 rand(long seed, long index) {
  uint2 key = detail::high_and_low(ulong(seed));
  uint4 counter = uint4(uint2(0), detail::high_and_low(ulong(index)));
  for (int round = 0; round < 9; ++round) {
    const uint2 a = detail::high_and_low(ulong(counter.x) * 0xD2511F53ul);
    const uint2 b = detail::high_and_low(ulong(counter.z) * 0xCD9E8D57ul);
    counter = uint4(b.x ^ counter.y ^ key.x, b.y, a.x ^ counter.w ^ key.y, a.y);
    key += uint2(0x9E3779B9u, 0xBB67AE85u);
  }
  return counter;
}

}  // namespace philox4

inline float rand(long seed, long index) {
  return detail::uint32_to_uniform_float(philox4::rand(seed, index).x);
}

inline float randn(long seed, long index) {
  const uint4 words = philox4::rand(seed, index);
  const float radius = 1.0f - detail::uint32_to_uniform_float(words.x);
  const float angle = 1.0f - detail::uint32_to_uniform_float(words.y);
  return ::metal::sqrt(-2.0f * ::metal::log(radius)) * ::metal::cos(2.0f * M_PI_F * angle);
}

}  // namespace metal
}  // namespace c10
