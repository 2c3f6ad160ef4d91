"""Runs kernels without torch, on each path of the CPU target.

Tests build kernels one after the other, each with several runs of a compiler. When many are to run,
threads build them ahead, so that all cores have work; a test then finds its kernel in the cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from openmps.msl.library import LanguageOptions, Library, parse_library
from openmps.targets.base import BUFFERS, DYNAMIC_OFFSET, dispatch_struct
from openmps.targets.cpu import CpuOptions, CpuTarget

# How coordinated kernels run, and whether anything is optimised.
PATHS = {
    "lanes": CpuOptions(lanes=True, optimise=True),
    "lanes-O0": CpuOptions(lanes=True, optimise=False),
    "threads": CpuOptions(lanes=False, optimise=True),
    "threads-O0": CpuOptions(lanes=False, optimise=False),
}


def reachable(buffers: Sequence[np.ndarray]) -> tuple[int, int]:
    """All buffers as memory that others may point to: the table's address, and its length."""
    table = np.array([[b.ctypes.data, b.nbytes] for b in buffers], np.uint64)
    _TABLES[:] = [table]
    return table.ctypes.data, len(table)


_TABLES: list[np.ndarray] = []  # keeps the last one alive while its kernel runs


@dataclass(frozen=True)
class Launcher:
    target: CpuTarget

    def compile(self, source: str, options: LanguageOptions | None = None) -> Library:
        library = parse_library(source, options=options)
        self.target.open(library)
        return library

    def run(
        self,
        library: Library,
        kernel: str,
        buffers: Sequence[np.ndarray],
        threads: Sequence[int],
        group: Sequence[int],
        dynamic: Mapping[int, int] | None = None,
    ) -> None:
        """Runs in place: what the kernel writes is in `buffers` afterwards."""
        assert len(buffers) <= BUFFERS
        compiled = self.target.kernel(library, kernel)
        grid = [*threads, 1, 1][:3]
        shape = [*group, 1, 1][:3]
        block = ctypes.create_string_buffer(
            dispatch_struct(len(buffers)).pack(
                compiled.header,
                *grid,
                *shape,
                *(buffer.ctypes.data for buffer in buffers),
                *(buffer.nbytes for buffer in buffers),
                *reachable(buffers),
            )
        )
        for index, size in (dynamic or {}).items():
            struct.pack_into("I", block, DYNAMIC_OFFSET + 4 * index, size)
        compiled.launch(ctypes.addressof(block))


@pytest.fixture(params=PATHS)
def launcher(request: pytest.FixtureRequest) -> Launcher:
    return Launcher(CpuTarget(PATHS[request.param]))


@pytest.fixture
def launchers() -> Callable[[str], Launcher]:
    return lambda path: Launcher(CpuTarget(PATHS[path]))


FEW = 20
_BUILDERS = ThreadPoolExecutor(max_workers=os.cpu_count(), thread_name_prefix="build")


def pytest_collection_finish(session: pytest.Session) -> None:
    items = [item for item in session.items if hasattr(item, "callspec")]
    names = ("test_kernel", "test_lanes_agree_with_threads")
    ahead = [item for item in items if item.originalname in names]
    if len(ahead) > FEW and not session.config.option.collectonly:
        for item in ahead:
            _BUILDERS.submit(_build, item.module.build_ahead, dict(item.callspec.params))


def _build(build_ahead: Callable[..., None], parameters: dict[str, object]) -> None:
    with contextlib.suppress(Exception):  # the test itself will tell
        build_ahead(**parameters)


def pytest_sessionfinish() -> None:
    _BUILDERS.shutdown(cancel_futures=True)
