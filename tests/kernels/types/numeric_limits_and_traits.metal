#include <metal_stdlib>
using namespace metal;

template <typename T, enable_if_t<is_integral_v<T>, bool> = true>
int kind_of(T) { return is_signed_v<T> ? 1 : 2; }
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true>
int kind_of(T) { return 10 + int(sizeof(T)); }

kernel void facts(device float* out, device int* kinds) {
  out[0] = numeric_limits<float>::max();
  out[1] = numeric_limits<float>::lowest();
  out[2] = -numeric_limits<float>::infinity();
  out[3] = float(numeric_limits<half>::max());
  out[4] = numeric_limits<float2>::max().y;
  out[5] = float(numeric_limits<uchar>::max()) + float(numeric_limits<short>::min());
  out[6] = numeric_limits<float>::epsilon();
  kinds[0] = kind_of(char(1));
  kinds[1] = kind_of(3ul);
  kinds[2] = kind_of(1.0h);
  kinds[3] = kind_of(1.0);
  kinds[4] = kind_of(float2(1));
  kinds[5] = kind_of(ushort3(1));
  kinds[6] = is_same_v<conditional_t<sizeof(long) == 8, int, float>, int> + 2 * is_same_v<remove_cv_t<const volatile half>, half>;
  kinds[7] = int(is_same_v<decltype(1.0h * 1.0f), float>) + 2 * int(is_same_v<make_unsigned_t<short>, ushort>);
  kinds[8] = INT_MIN + 1;
  kinds[9] = int(M_PI_F * 1000) + int(MAXHALF == 65504);
}
