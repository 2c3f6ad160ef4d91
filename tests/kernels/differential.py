"""Random kernels in lock-step lanes, or on a GPU, against one fibre per thread: equal bits.

python -m kernels.differential PROGRAMS FIRST_SEED      (scripts/differential)
"""

from __future__ import annotations

import multiprocessing
import os
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.queues import SimpleQueue

import numpy as np

from .conftest import CPU_PATHS, make_launcher
from .random_kernels import RandomKernel, make_kernel

LONGEST_S = 120
_FORKS = multiprocessing.get_context("forkserver")


def results(kernel: RandomKernel, path: str) -> list[np.ndarray]:
    launcher = make_launcher(path)
    library = launcher.compile(kernel.source)
    buffers = [buffer.copy() for buffer in kernel.buffers]
    launcher.run(library, "made", launcher.memory(buffers), kernel.threads, kernel.group)
    for buffer in buffers:
        if buffer.dtype == np.float32:
            buffer[np.isnan(buffer)] = np.nan  # one NaN for all: which one is nobody's promise
    return buffers


def difference(seed: int, paths: tuple[str, ...] = tuple(CPU_PATHS)) -> str | None:
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


def in_own_process(seed: int) -> str | None:
    """The same, where a crash ends only the process that it happens in."""
    results = _FORKS.SimpleQueue()
    process = _FORKS.Process(target=_report, args=(seed, results))
    process.start()
    process.join(LONGEST_S)
    if process.exitcode is None:
        process.kill()
        return f"seed {seed} ran longer than {LONGEST_S} s\n{make_kernel(seed).source}"
    if process.exitcode != 0 or results.empty():
        return f"seed {seed} ended with {process.exitcode}\n{make_kernel(seed).source}"
    text: str | None = results.get()
    return text


def _report(seed: int, results: SimpleQueue[str | None]) -> None:
    warnings.simplefilter("error", RuntimeWarning)  # a kernel that lanes cannot run
    results.put(difference(seed))


def main(programs: int, first: int) -> int:
    found = 0
    _FORKS.set_forkserver_preload(["kernels.differential"])
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        seeds = range(first, first + programs)
        for number, text in enumerate(pool.map(in_own_process, seeds)):
            if text is not None:
                found += 1
                print(text, "\n", flush=True)
            if number % 100 == 99:
                print(f"{number + 1} of {programs}, {found} differ", flush=True)
    print(f"{programs} programs from seed {first}: {found} differ")
    return 1 if found else 0
