#include <metal_stdlib>
using namespace metal;

struct Header {
  uint count;
  ushort kind;
  uchar flags[2];
};

kernel void cast(device const uchar* bytes [[buffer(0)]], device uint* out [[buffer(1)]],
                 device void* raw [[buffer(2)]]) {
  const device Header* header = (const device Header*)(bytes + 4);
  device const Header& same = *reinterpret_cast<device const Header*>(bytes + 4);
  auto words = reinterpret_cast<device const uint*>(bytes);
  out[0] = words[0];
  out[1] = header->count;
  out[2] = same.kind;
  out[3] = header->flags[1];
  device float* f = static_cast<device float*>(raw);
  f[1] = 2.5;
  *((device ushort*)raw + 1) = 0xbeef;
  out[4] = (uint)((device uchar*)(bytes + 3))[0];
}
