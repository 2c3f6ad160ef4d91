"""Random kernels in lock-step lanes against one fibre per thread: equal, bit for bit.

python -m kernels.differential PROGRAMS FIRST_SEED      (scripts/differential)
"""

from __future__ import annotations

import sys
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np

from openmps.targets.cpu import CpuTarget

from .conftest import PATHS, Launcher
from .random_kernels import RandomKernel, make_kernel


def results(kernel: RandomKernel, path: str) -> list[np.ndarray]:
    launcher = Launcher(CpuTarget(PATHS[path]))
    library = launcher.compile(kernel.source)
    buffers = [buffer.copy() for buffer in kernel.buffers]
    launcher.run(library, "made", buffers, kernel.threads, kernel.group)
    for buffer in buffers:
        if buffer.dtype == np.float32:
            buffer[np.isnan(buffer)] = np.nan  # one NaN for all: which one is nobody's promise
    return buffers


def difference(seed: int, paths: tuple[str, ...] = tuple(PATHS)) -> str | None:
    """What is wrong with this seed's kernel, with its source; None if nothing is."""
    kernel = make_kernel(seed)
    what = f"seed {seed}, threads {kernel.threads}, group {kernel.group}\n{kernel.source}"
    try:
        expected = results(kernel, "threads-O0")
        for path in paths:
            found = results(kernel, path)
            for index, (got, wanted) in enumerate(zip(found, expected, strict=True)):
                bad = np.flatnonzero(got.view(np.uint32) != wanted.view(np.uint32))
                if len(bad):
                    at = int(bad[0]) * 4 // got.itemsize
                    return (
                        f"{path} differs from threads-O0 in buffer {index} at {at}: "
                        f"{got[at]!r}, not {wanted[at]!r} ({len(bad)} words)\n{what}"
                    )
    except Exception:
        return f"{traceback.format_exc()}\n{what}"
    return None


def main(programs: int, first: int) -> int:
    warnings.simplefilter("error", RuntimeWarning)
    found = 0
    with ProcessPoolExecutor() as pool:
        seeds = range(first, first + programs)
        for number, done in enumerate(as_completed([pool.submit(difference, s) for s in seeds])):
            text = done.result()
            if text is not None:
                found += 1
                print(text, "\n", flush=True)
            if number % 100 == 99:
                print(f"{number + 1} of {programs}, {found} differ", flush=True)
    print(f"{programs} programs from seed {first}: {found} differ")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0))
