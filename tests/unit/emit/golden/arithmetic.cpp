// Integers and floats of each width: shifts, casts, comparisons, flags, LLVM's own functions.
typedef int int4 __attribute__((ext_vector_type(4)));
static void run(const Launch* launch, const Threadgroup* tg, unsigned x) {
  auto i = static_cast<int*>(launch->buffers[0]);
  auto u = static_cast<unsigned*>(launch->buffers[1]);
  auto l = static_cast<long*>(launch->buffers[2]);
  auto f = static_cast<float*>(launch->buffers[3]);
  auto h = static_cast<_Float16*>(launch->buffers[4]);
  auto v = static_cast<int4*>(launch->buffers[5]);
  i[x] = (i[x + 1] << i[x + 2]) + (i[x + 3] >> u[x]) + (u[x + 1] >> 3);
  l[x] = (l[x + 1] << i[x]) / (l[x + 2] | 1) + static_cast<unsigned long>(l[x]) % (u[x] | 1);
  v[x] = (v[x + 1] << v[x + 2]) + (v[x + 1] > v[x + 2]) + v[x].wzyx;
  {
    _Pragma("clang fp reassociate(on) contract(fast)")
    f[x] = f[x] * f[x + 1] + f[x + 2];
  }
  f[x + 1] = -f[x + 1] < f[x + 2] ? __builtin_fmaf(f[x], f[x + 1], 0.1f) : __builtin_sqrtf(f[x]);
  f[x + 2] = __builtin_fminf(f[x + 2], __builtin_inff()) + __builtin_expf(f[x]) + __builtin_nanf("");
  f[x + 3] = static_cast<float>(i[x]) + static_cast<float>(u[x]) + h[x];
  h[x] = static_cast<_Float16>(f[x]) * h[x + 1] + static_cast<_Float16>(0.1);
  u[x] = static_cast<unsigned>(f[x]) + static_cast<int>(f[x + 1]) + static_cast<unsigned short>(i[x]);
  int whole;
  i[x + 1] = __builtin_sadd_overflow(i[x], i[x + 1], &whole) ? whole : __builtin_popcount(u[x]);
  i[x + 2] = __builtin_clz(u[x] | 1) + __builtin_bswap32(u[x]) + __builtin_rotateleft32(u[x], i[x]);
  int undefined;
  if (i[x] > 3) undefined = 8;
  i[x + 3] = undefined + openmps_lane();
}
