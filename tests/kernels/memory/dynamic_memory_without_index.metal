using namespace metal;

kernel void shared(device float* data, threadgroup float* scratch, constant uint& shift,
                   uint t [[thread_position_in_threadgroup]], uint size [[threads_per_threadgroup]]) {
  scratch[t] = data[t];
  threadgroup_barrier(mem_flags::mem_threadgroup);
  data[t] = scratch[(t + shift) % size];
}
