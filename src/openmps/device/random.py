"""Where csrc/random.cpp gets its kernels from: Metal files of ours, over headers of the installed
torch.

Nothing here runs before a program's first random number.
"""

from __future__ import annotations

import functools
from pathlib import Path

from openmps.device.core import find_torch
from openmps.targets.shipped import ShippedKernels

FOLDER = Path(__file__).parent


@functools.cache
def _kernels(file: str) -> ShippedKernels:
    include = find_torch().folder / "include"
    headers = (include / "c10" / "metal").glob("*.h")
    return ShippedKernels(FOLDER / file, {str(h.relative_to(include)): h for h in headers})


def find_kernel(name: str) -> int | None:
    """The address of a kernel for the CPU; None if there is none of that name."""
    return _kernels(_file_of(name)).entry(name)


def find_function(name: str) -> int | None:
    """The same for the GPU: a CUfunction, which takes a CudaLaunch."""
    return _kernels(_file_of(name)).function(name)


def _file_of(name: str) -> str:
    return "poisson.metal" if name.startswith("poisson_") else "random.metal"
