// Not inlined: lanes call them one by one, with arguments and results narrower than a register, and
// with some that lie in memory.
#include <metal_stdlib>
using namespace metal;

static int steps(short n, bool up) {
  if (n < 2) return up ? n : -n;
  return steps(n - 1, up) + steps(short(n - 2), !up);
}

static bool odd(uchar n) {
  if (n < 2) return n == 1;
  return odd(n - 2) != (n > 200 && odd(n - 3));
}

struct Row { int a[9]; };

static Row counted(Row given, int n) {
  if (n < 0) return given;
  given.a[n % 9] += n;
  Row row = counted(given, n - 1);
  row.a[0] += given.a[1];
  return row;
}

kernel void f(device int* y, device const int* x, uint i [[thread_position_in_grid]]) {
  int v = x[i];
  y[i] = simd_sum(v & 1);  // before threads part: a GPU need not bring them together after recursion
  y[i] += steps(short(v * 65537), v > 3);
  if (odd(uchar(v + 512))) y[i] += 1000;
  Row row = {{v}};
  row = counted(row, v);
  y[i] += 10000 * (row.a[0] + row.a[1] + row.a[2]);
}
