#include <metal_stdlib>
#if __METAL_VERSION__ < 9999
#error needs a newer Metal
#endif
