#include <metal_stdlib>
using namespace metal;

constant bool use_bias [[function_constant(0)]];
constant int width [[function_constant(1)]];
constant float2 pair [[function_constant(20)]];
constant bool has_width = is_function_constant_defined(width);
constant int real_width = has_width ? width : 12;

kernel void run(device float* out, device const float* bias [[buffer(1), function_constant(use_bias)]],
                uint i [[thread_position_in_grid]]) {
  float v = float(i * real_width) + pair.y;
  if (use_bias) v += bias[i];
  out[i] = v + float(width);
}
