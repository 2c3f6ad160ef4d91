#include <metal_stdlib>
using namespace metal;

// Each would be known without `v` if overflow could not happen.
int following(int v) { return v + 1; }

template <typename T>
bool grows(T v, T by) {
  T sum = v;
  sum += by;
  return sum > v;
}

kernel void compare(device const int* in, device int* out, uint i [[thread_position_in_grid]]) {
  const int v = in[i];
  const long w = long(v) << 32, one = long(1) << 32;
  int next = v, last = v, less = v, twice = v;
  ++next;
  last--;
  less -= 2;
  twice *= 2;
  const int2 pair = int2(v, v) + 1;
  device int* o = out + 14 * i;
  o[0] = v + 1 > v;
  o[1] = following(v) > v;
  o[2] = grows(v, 1);
  o[3] = grows(w, one);
  o[4] = w + one > w;
  o[5] = next > v;
  o[6] = last < v;
  o[7] = less < v;
  o[8] = twice / 2 == v;
  o[9] = v * 2 / 2 == v;
  o[10] = v < 0 && -v < 0;
  o[11] = abs(v) < 0;
  o[12] = any(pair <= v);
  o[13] = v < 0 && any(-int2(v) < 0);
}
