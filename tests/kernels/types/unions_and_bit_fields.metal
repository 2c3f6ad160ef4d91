#include <metal_stdlib>
using namespace metal;

union Word {
  uint whole;
  half2 halves;
  struct { ushort low, high; };
  uchar bytes[4];
};

struct Block {
  union {
    struct { half d; half m; };
    half2 dm;
  };
  uint8_t qs[4];
};

struct Fields {
  uint low : 5;
  uint middle : 11;
  int top : 16;
};

kernel void look(device const uint* in, device uint* out, device const Block* blocks,
                 device float* values, uint i [[thread_position_in_grid]]) {
  Word word;
  word.whole = in[i];
  const ushort low = word.low;
  word.low = word.high;
  word.high = low;
  word.bytes[0] ^= 0xff;
  out[2 * i] = word.whole;
  Fields fields = as_type<Fields>(in[i]);
  out[2 * i + 1] = uint(fields.low * 3 + fields.middle * 5 - fields.top);
  const device Block& b = blocks[i];
  values[i] = float(b.d) * (b.qs[3] >> 4) + float(b.dm[1]);
}
