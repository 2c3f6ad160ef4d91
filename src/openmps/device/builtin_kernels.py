"""Where the core gets its own kernels from: Metal files in this folder, over torch's own headers.

Nothing here runs before a program needs the first of them: its first random number, or on a GPU its
first index.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from openmps.device.core import find_torch
from openmps.targets.builtin_kernels import BuiltinKernels

if TYPE_CHECKING:
    from openmps.device.engines.base import Engine

FOLDER = Path(__file__).parent
_RANDOM = "c10/metal/random.h"
_MATH = "openmps/builtin_math.h"


def headers(torch: Path) -> dict[str, Path]:
    """What the kernels may include, by name."""
    include = torch / "include"
    found = {str(h.relative_to(include)): h for h in (include / "c10" / "metal").glob("*.h")}
    # Until torch 2.13 a Mac drew with a generator of Apple's. In 2.11 this header has a mistake;
    # that of 2.12, without it, gives the same numbers as ours.
    random = found.get(_RANDOM)
    if random is None or "box_muller_from_philox" not in random.read_text(encoding="utf-8"):
        found[_RANDOM] = FOLDER / "philox.h"
    found[_MATH] = FOLDER / "builtin_math.h"
    return found


@functools.cache
def _kernels(file: str) -> BuiltinKernels:
    return BuiltinKernels(FOLDER / file, headers(find_torch().folder))


def _file_of(name: str) -> str:
    if name.startswith("guard_"):
        return "guards.metal"
    return "poisson.metal" if name.startswith("poisson_") else "random.metal"


def finder(engine: Engine) -> Callable[[str], int | None]:
    """Gives the code of a kernel, as the engine launches it; None if there is none."""

    def find(name: str) -> int | None:
        return engine.kernel_code(_kernels(_file_of(name)), name)

    return find
