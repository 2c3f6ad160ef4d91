// Kernels for the tests of the CPU runtime, each a function of its own. tests only.
#include "msl/launch/launch.h"
#include "msl/threads/lanes.h"
using namespace openmps;
extern "C" void openmps_lanes_barrier();
extern "C" void openmps_lanes_yield();
#define PLAIN(name) extern "C" void name(const Launch* l, const Block* b)
#define SIMDGROUP(name) extern "C" void name(const Launch* l, const Threadgroup* g, unsigned sg)
#define THREAD(name)                                                                              \
  extern "C" void name(const Launch* l, const Threadgroup* g, unsigned x, unsigned y, unsigned z, \
                       unsigned lane, unsigned sg)
#define BUFFER(type, index) ((type*)l->buffers[index])
template <class T>
T add(T* p, T v) {
  return __atomic_fetch_add(p, v, __ATOMIC_RELAXED);
}

PLAIN(nothing) {}

// Counts visits of each thread; the first eight of a row say where the block began.
PLAIN(visit) {
  for (unsigned z = b->begin[2]; z < b->end[2]; ++z)
    for (unsigned y = b->begin[1]; y < b->end[1]; ++y)
      for (unsigned x = b->begin[0]; x < b->end[0]; ++x)
        add(BUFFER(unsigned, 0) + (unsigned long)l->grid[0] * (l->grid[1] * z + y) + x, 1u);
}
PLAIN(count_threads) {
  unsigned long n = 1;
  for (int i = 0; i < 3; ++i) n *= b->end[i] - b->begin[i];
  add(BUFFER(unsigned long, 0), n);
  add(BUFFER(unsigned long, 0) + 1, 1ul);
}
PLAIN(slow_count) {
  for (unsigned x = b->begin[0]; x < b->end[0]; ++x) {
    for (volatile int i = 0; i < 2000; ++i) {
    }
    add(BUFFER(unsigned, 0), 1u);
  }
}
PLAIN(spin) {
  for (volatile unsigned i = 0; i < *BUFFER(unsigned, 0); ++i) {
  }
}
PLAIN(read_at) { BUFFER(unsigned, 1)[0] = ((unsigned char*)l->buffers[0])[*BUFFER(long, 2)]; }
PLAIN(write_at) { ((unsigned char*)l->buffers[0])[*BUFFER(long, 2)] = 7; }
PLAIN(read_wild) { BUFFER(unsigned, 1)[0] = *(unsigned*)0x123456789000; }
PLAIN(read_impossible) { BUFFER(unsigned, 1)[0] = *(unsigned*)0xdead000000000000; }
PLAIN(divide) { BUFFER(int, 0)[0] = BUFFER(int, 0)[0] / BUFFER(int, 0)[1]; }
PLAIN(trap) { __builtin_trap(); }
PLAIN(fault_in_group_3) {
  if (b->begin[0] == 3 * l->group[0]) *(volatile int*)0x777000 = 1;
}
PLAIN(endless) {
  for (volatile unsigned i = 0;; ++i) {
  }
}
PLAIN(endless_after_2) {
  if (b->begin[0] / l->group[0] >= 2)
    for (volatile unsigned i = 0;; ++i) {
    }
}
static int recurse(int n) {
  volatile char room[4096];
  room[0] = n;
  return n < 0 ? 0 : recurse(n + 1) + room[0];
}
PLAIN(overflow) { BUFFER(int, 0)[0] = recurse(1); }
SIMDGROUP(overflow_simdgroup) {
  if (sg == 1) BUFFER(int, 0)[0] = recurse(1);
}
static int descend(int n) {
  volatile char room[4096];
  room[4095] = 0;
  return n ? descend(n - 1) + n + room[4095] : 0;
}
SIMDGROUP(deep) { BUFFER(int, 0)[sg] = descend(4000); }
THREAD(overflow_thread) {
  if (x == 40) BUFFER(int, 0)[0] = recurse(1);
}

// Each group waits for the one before it, as in a scan with decoupled look-back.
PLAIN(look_back) {
  unsigned group = b->begin[0] / l->group[0];
  unsigned* sums = BUFFER(unsigned, 0);
  unsigned before = 0;
  if (group)
    while (!(before = __atomic_load_n(sums + group - 1, __ATOMIC_ACQUIRE))) {
    }
  __atomic_store_n(sums + group, before + b->end[0] - b->begin[0], __ATOMIC_RELEASE);
}
SIMDGROUP(look_back_simdgroup) {
  static thread_local unsigned total;
  unsigned* sums = BUFFER(unsigned, 0);
  unsigned group = g->position[0], before = 0;
  if (sg == g->simdgroups - 1) total = 0;
  openmps_lanes_barrier();
  total += 1;
  openmps_lanes_barrier();
  if (sg == 0) {
    if (group)
      while (!(before = __atomic_load_n(sums + group - 1, __ATOMIC_ACQUIRE))) {
      }
    __atomic_store_n(sums + group, before + total, __ATOMIC_RELEASE);
  }
}

// Writes the order in which simdgroups come by: at the start, after a yield, after a barrier.
SIMDGROUP(order) {
  unsigned* out = BUFFER(unsigned, 0);
  auto note = [&](unsigned phase) { out[out[0] += 1] = phase * 100 + sg; };
  note(1);
  openmps_lanes_yield();
  note(2);
  openmps_lanes_barrier();
  note(3);
  if (sg == 2) return;
  openmps_lanes_barrier();
  note(4);
}
SIMDGROUP(barriers) {
  unsigned* out = BUFFER(unsigned, 0) + g->position[0] * 64;
  for (unsigned i = 0; i < BUFFER(unsigned, 1)[0]; ++i) {
    out[sg] = i;
    openmps_lanes_barrier();
    if (out[(sg + 1) % g->simdgroups] != i) out[32 + sg] += 1;
    openmps_lanes_barrier();
  }
}
SIMDGROUP(shape) {
  unsigned row = g->position[1] + l->groups[1] * g->position[2];
  unsigned number = g->position[0] + l->groups[0] * row;
  unsigned* out = BUFFER(unsigned, 0) + number * 6;
  if (sg) return;
  for (int i = 0; i < 3; ++i) out[i] = g->shape[i];
  out[3] = g->threads;
  out[4] = g->simdgroups;
  out[5] = (unsigned long)g->dynamic % 16;
}
SIMDGROUP(dynamic) {
  float* first = (float*)(g->dynamic + l->dynamic_offset[0]);
  float* second = (float*)(g->dynamic + l->dynamic_offset[2]);
  for (int lane = 0; lane < 32; ++lane) first[sg * 32 + lane] = sg * 32 + lane;
  for (int lane = 0; lane < 32; ++lane) second[sg * 32 + lane] = -1;
  openmps_lanes_barrier();
  float* out = BUFFER(float, 0) + g->position[0] * g->threads;
  for (int lane = 0; lane < 32; ++lane)
    out[sg * 32 + lane] = first[g->threads - 1 - sg * 32 - lane] + second[0];
}
SIMDGROUP(fault_after_barrier) {
  openmps_lanes_barrier();
  if (sg == 1 && g->position[0] == 2) *(volatile int*)0x777000 = 1;
  openmps_lanes_barrier();
}

// ---- one fibre per thread

THREAD(where) {
  unsigned* out = BUFFER(unsigned, 0);
  unsigned position = g->position[0] * l->group[0] + x;
  unsigned row = g->position[1] * l->group[1] + y;
  unsigned* mine = out + (row * l->grid[0] + position) * 4;
  mine[0] = x;
  mine[1] = y;
  mine[2] = lane;
  mine[3] = sg;
}
THREAD(reverse) {
  static thread_local float shared[1024];
  unsigned n = g->threads, base = g->position[0] * l->group[0];
  if (x % 7 == 3) {
    shared[x] = -1;
    BUFFER(float, 0)[base + x] = -1;
    return;
  }
  shared[x] = x;
  openmps_threadgroup_barrier();
  float other = shared[n - 1 - x];
  openmps_threadgroup_barrier();
  BUFFER(float, 0)[base + x] = other;
}
THREAD(thread_barriers) {
  for (unsigned i = 0; i < BUFFER(unsigned, 1)[0]; ++i) openmps_threadgroup_barrier();
}
THREAD(thread_sums) {
  float v = lane;
  for (unsigned i = 0; i < BUFFER(unsigned, 1)[0]; ++i) v = openmps_reduce_add_f32(v) * 0.03125f;
  BUFFER(float, 0)[x] = v;
}

#define CALL(name, type, function)                                               \
  THREAD(name) {                                                                 \
    if (!(BUFFER(unsigned, 2)[sg] >> lane & 1)) return;                          \
    BUFFER(type, 0)[sg * 32 + lane] = function(BUFFER(type, 1)[sg * 32 + lane]); \
  }
CALL(reduce_add_f32, float, openmps_reduce_add_f32)
CALL(reduce_mul_f32, float, openmps_reduce_mul_f32)
CALL(reduce_min_f32, float, openmps_reduce_min_f32)
CALL(reduce_max_f32, float, openmps_reduce_max_f32)
CALL(scan_inclusive_add_f32, float, openmps_scan_inclusive_add_f32)
CALL(scan_exclusive_add_f32, float, openmps_scan_exclusive_add_f32)
CALL(scan_inclusive_mul_f32, float, openmps_scan_inclusive_mul_f32)
CALL(scan_exclusive_mul_f32, float, openmps_scan_exclusive_mul_f32)
#define INTEGERS(width, type)                                                \
  CALL(reduce_add_##width, type, openmps_reduce_add_##width)                 \
  CALL(reduce_mul_##width, type, openmps_reduce_mul_##width)                 \
  CALL(reduce_and_##width, type, openmps_reduce_and_##width)                 \
  CALL(reduce_or_##width, type, openmps_reduce_or_##width)                   \
  CALL(reduce_xor_##width, type, openmps_reduce_xor_##width)                 \
  CALL(reduce_umin_##width, type, openmps_reduce_umin_##width)               \
  CALL(reduce_umax_##width, type, openmps_reduce_umax_##width)               \
  CALL(reduce_smin_##width, type, openmps_reduce_smin_##width)               \
  CALL(reduce_smax_##width, type, openmps_reduce_smax_##width)               \
  CALL(scan_inclusive_add_##width, type, openmps_scan_inclusive_add_##width) \
  CALL(scan_exclusive_add_##width, type, openmps_scan_exclusive_add_##width) \
  CALL(scan_inclusive_mul_##width, type, openmps_scan_inclusive_mul_##width) \
  CALL(scan_exclusive_mul_##width, type, openmps_scan_exclusive_mul_##width)
INTEGERS(u32, unsigned)
INTEGERS(u64, unsigned long)

// Three sites, two of them divergent; lanes come to them in different states.
THREAD(divergent) {
  unsigned* out = BUFFER(unsigned, 0) + x * 6;
  if (lane % 3 == 0) {
    out[0] = openmps_active();
    out[1] = openmps_ballot(lane % 2 == 0);
  } else {
    out[0] = openmps_active();
    out[1] = openmps_shuffle_u32(lane + 100, lane + 3);
  }
  out[2] = openmps_active();
  unsigned rounds = 0;
  for (unsigned i = 0; i <= lane; ++i) rounds += openmps_reduce_add_u32(1);
  out[3] = rounds;
  out[4] = openmps_lane();
  openmps_simdgroup_barrier();
  out[5] = (unsigned)(openmps_shuffle_u64(0x100000000ul * lane, lane ^ 1) >> 32);
}
THREAD(tell_of_a_call_that_never_comes) {
  if (lane % 2) openmps_at(7);
}
THREAD(thread_order) {
  unsigned* out = BUFFER(unsigned, 0);
  if (lane == 0) out[out[0] += 1] = 100 + sg;
  openmps_simdgroup_barrier();
  if (lane == 0) out[out[0] += 1] = 200 + sg;
  openmps_threadgroup_barrier();
  if (lane == 0) out[out[0] += 1] = 300 + sg;
}
THREAD(matrix) {
  float* in = BUFFER(float, 1);
  float a0 = openmps_matrix_load_f32(in, 8, false, 0);
  float a1 = openmps_matrix_load_f32(in, 8, false, 1);
  float b0 = openmps_matrix_load_f32(in + 64, 8, true, 0);
  float b1 = openmps_matrix_load_f32(in + 64, 8, true, 1);
  float c0 = openmps_matrix_load_f32(in + 128, 10, false, 0);
  float c1 = openmps_matrix_load_f32(in + 128, 10, false, 1);
  float d0 = openmps_matrix_multiply_f32(a0, a1, b0, b1, c0, 0);
  float d1 = openmps_matrix_multiply_f32(a0, a1, b0, b1, c1, 1);
  openmps_matrix_store_f32(d0, d1, BUFFER(float, 0), 8, false);
  openmps_matrix_store_f32(d0, d1, BUFFER(float, 0) + 64, 8, true);
  BUFFER(float, 0)[128 + 2 * lane] = a0;
  BUFFER(float, 0)[129 + 2 * lane] = a1;
  unsigned short* halves = BUFFER(unsigned short, 2);
  unsigned short h0 = openmps_matrix_load_u16(halves, 8, false, 0);
  unsigned short h1 = openmps_matrix_load_u16(halves, 8, false, 1);
  openmps_matrix_store_u16(h0, h1, halves + 64, 8, true);
}
THREAD(fault_in_thread) {
  openmps_simdgroup_barrier();
  if (g->position[0] == 1 && x == 37) *(volatile int*)0x777000 = 1;
}
