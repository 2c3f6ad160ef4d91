"""saxpy and silu in OpenCL on PoCL, the open OpenCL for CPUs: milliseconds.

    pip install pyopencl pocl-binary-distribution
    python bench/pocl_peer.py

A peer for the first two rows of `scripts/bench shaders`, which prints the same milliseconds for the
plain loop and for the Metal kernel; run both on a quiet machine and compare.
"""

from __future__ import annotations

import os
import statistics
import time

import numpy as np
import pyopencl as cl

SOURCE = """
kernel void saxpy(global float* y, global const float* x, float a) {
  size_t i = get_global_id(0);
  y[i] = a * x[i] + y[i];
}
kernel void silu(global float* y, global const float* x) {
  size_t i = get_global_id(0);
  float v = x[i];
  y[i] = v / (1.0f + exp(-v));
}
"""


def main() -> None:
    # As many threads as the benchmark of the Metal kernels uses.
    os.environ.setdefault("POCL_MAX_PTHREAD_COUNT", os.environ.get("OMP_NUM_THREADS", "1"))
    platform = next(p for p in cl.get_platforms() if "Portable" in p.name)
    context = cl.Context(platform.get_devices()[:1])
    queue = cl.CommandQueue(context)
    count = 1 << 24
    x = np.random.default_rng(0).standard_normal(count, dtype=np.float32)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.COPY_HOST_PTR
    on_device = cl.Buffer(context, flags, hostbuf=x)
    result = cl.Buffer(context, flags, hostbuf=np.ones_like(x))
    program = cl.Program(context, SOURCE).build()
    for name, rest in (("saxpy", [np.float32(1.0001)]), ("silu", [])):
        kernel = cl.Kernel(program, name)
        times = []
        for _ in range(31):
            begin = time.perf_counter()
            kernel(queue, (count,), (1024,), result, on_device, *rest)
            queue.finish()
            times.append(time.perf_counter() - begin)
        print(f"{name}: {statistics.median(times[1:]) * 1e3:.3f} ms, {platform.version}")


if __name__ == "__main__":
    main()
