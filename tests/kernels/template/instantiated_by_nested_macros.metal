#include <metal_stdlib>
using namespace metal;

struct Add { template <typename T> T operator()(T a, T b) { return a + b; } };
struct Less { template <typename T> bool operator()(T a, T b) { return a < b; } };

template <typename T, typename U, typename Op, int Times = 1>
[[kernel]] void combine(device const T* a, device const T* b, device U* out,
                        uint i [[thread_position_in_grid]]) {
  U r = Op()(a[i], b[i]);
  for (int k = 1; k < Times; ++k) r = U(r + r);
  out[i] = r;
}

#define instantiate(name, func, ...) \
  template [[host_name(name)]] [[kernel]] decltype(func<__VA_ARGS__>) func<__VA_ARGS__>;
#define both(type, short_name) \
  instantiate("add_" #short_name, combine, type, type, Add) \
  instantiate("add3_" #short_name, combine, type, type, Add, 3) \
  instantiate("less_" #short_name, combine, type, bool, Less)
both(float, f32)
both(int, i32)
both(half, f16)
#undef both
