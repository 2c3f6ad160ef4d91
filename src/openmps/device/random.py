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
    """The address of a kernel; None if there is none of that name."""
    file = "poisson.metal" if name.startswith("poisson_") else "random.metal"
    return _kernels(file).entry(name)
