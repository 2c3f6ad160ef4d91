#include <metal_stdlib>
using namespace metal;

enum Op { ADD, SUB = 5, MUL };
enum class Mode : uchar { low = 1, high = 200 };

struct complex {
  float re, im;
  complex operator*(complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
  thread complex& operator/=(float s) { re /= s; im /= s; return *this; }
  bool operator==(complex o) const { return re == o.re && im == o.im; }
  operator float2() const { return float2(re, im); }
};
complex operator+(complex a, complex b) { return {a.re + b.re, a.im + b.im}; }
complex operator/(complex a, int n) { a /= float(n); return a; }

kernel void compute(device float2* out, device int* codes, uint i [[thread_position_in_grid]]) {
  const complex z = {float(i), 1};
  complex w = z * z + z / 2;
  w /= 4;
  out[i] = w;
  const Op op = Op(i % 7);
  codes[2 * i] = (op == SUB) * 10 + (op == MUL) * 20 + (op == ADD) * 30 + (w == w);
  codes[2 * i + 1] = int(i % 2 ? Mode::high : Mode::low) / 3;
}
