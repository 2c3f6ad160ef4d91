#include <metal_stdlib>
using namespace metal;

float first(device const float* p) { return p[0]; }
float first(threadgroup const float* p) { return p[0]; }
float first(thread const float* p) { return p[0]; }
float at(constant float* p, uint i) { return p[i]; }
float at(device float* p, uint i) { return p[i] * 100; }

struct Counter {
  int n;
  void add(int by) thread { n += by; }
  void add(int by) threadgroup { n += by; }
  void add(int by) device { n += by; }
  int get() const thread { return n; }
  int get() const threadgroup { return n; }
  int get() const device { return n; }
};

kernel void spaces(device float* out, constant float* table, device Counter* counters,
                   uint t [[thread_index_in_threadgroup]]) {
  threadgroup float shared[4];
  threadgroup Counter one;
  if (t == 0) {
    shared[0] = 2;
    one.n = 5;
    one.add(2);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float own[2] = {3, 4};
  Counter mine = {int(t)};
  mine.add(one.get());
  counters[t].add(mine.get());
  out[t + 1] = first(shared) + first(own) + first(out) + at(table, t) + at(out, 0);
}
