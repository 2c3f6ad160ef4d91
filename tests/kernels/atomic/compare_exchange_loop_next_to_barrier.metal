#include <metal_stdlib>
using namespace metal;

// Bytes packed four to a word, added with 32-bit exchanges, from lanes that diverge.
void add_byte(threadgroup atomic_uint* words, uint at, uint value) {
  threadgroup atomic_uint* word = words + at / 4;
  const uint shift = at % 4 * 8;
  uint seen = atomic_load_explicit(word, memory_order_relaxed);
  uint next;
  do {
    const uint byte = ((seen >> shift) + value) & 0xff;
    next = (seen & ~(0xffu << shift)) | (byte << shift);
  } while (!atomic_compare_exchange_weak_explicit(word, &seen, next, memory_order_relaxed,
                                                  memory_order_relaxed));
}

kernel void bytes(device const uchar* where, device uint* out,
                  uint t [[thread_index_in_threadgroup]]) {
  threadgroup atomic_uint words[4];
  if (t < 4) atomic_store_explicit(&words[t], 0u, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t % 3 != 0) add_byte(words, where[t] % 16, t);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  if (t < 4) out[t] = atomic_load_explicit(&words[t], memory_order_relaxed);
}
