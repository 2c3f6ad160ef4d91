#include <metal_stdlib>
using namespace metal;

// The column is the shader's, though literals, divisions and swizzles before it became longer.
kernel void f(device float4* out, constant float4& v, uint i [[thread_position_in_grid]]) {
  threadgroup float a[4], b; out[i] = v.wzyx / 2.0 + float((device float*)a == 0) + v.xyxy * 1.5h * lost;
}
