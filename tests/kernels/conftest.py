"""Runs kernels on each path of the engine's target; on the CPU's without torch.

Tests build kernels one after the other, each with several runs of a compiler. When many are to run,
threads build them ahead, so that all cores have work; a test then finds its kernel in the cache.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pytest

from openmps.build.processor import Processor, levels_here
from openmps.layouts import BUFFERS
from openmps.msl.library import LanguageOptions, Library, parse_library
from openmps.targets.base import DYNAMIC_OFFSET, dispatch_struct
from openmps.targets.cpu import CpuTarget
from openmps.targets.cpu_builder import CpuOptions
from openmps.targets.cuda import CudaTarget

ENGINE = os.environ.get("OPENMPS_ENGINE", "cpu")  # in tests, the one that activation has chosen
if ENGINE == "cuda":  # the arm64 machine of scripts/arm64 has no torch
    import torch

# How coordinated kernels run, and whether anything is optimised: as on this machine, and in lanes
# as on every level that it has.
CPU_PATHS = {
    "lanes": CpuOptions(lanes=True, optimise=True),
    "lanes-O0": CpuOptions(lanes=True, optimise=False),
    "threads": CpuOptions(lanes=False, optimise=True),
    "threads-O0": CpuOptions(lanes=False, optimise=False),
}
LEVELS = tuple(levels_here())
for level in LEVELS:
    processor = Processor(platform.machine(), level)
    CPU_PATHS[f"lanes-{level}"] = CpuOptions(processor=processor)
for level in LEVELS[:1]:  # the lowest has the largest frames
    processor = Processor(platform.machine(), level)
    CPU_PATHS[f"lanes-O0-{level}"] = CpuOptions(optimise=False, processor=processor)
# As shipped, and with the bits that the CPU computes.
GPU_PATHS = {"cuda": False, "cuda-exact": True}
PATHS = tuple(GPU_PATHS if ENGINE == "cuda" else CPU_PATHS)
if "KERNEL_PATHS" in os.environ:  # scripts/arm64 runs some
    PATHS = tuple(os.environ["KERNEL_PATHS"].split())

Kernels = CpuTarget | CudaTarget


def target_of(path: str) -> Kernels:
    if path in CPU_PATHS:
        return CpuTarget(CPU_PATHS[path])
    return CudaTarget(exact=GPU_PATHS[path])


class HostMemory:
    """Arrays where they lie."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self.arrays = arrays
        self.addresses = [array.ctypes.data for array in arrays]

    def send(self) -> None:
        pass

    def fetch(self) -> None:
        pass


class GpuMemory:
    """Arrays with a copy on the GPU."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self.arrays = arrays
        sizes = [array.nbytes for array in arrays]
        self._copies = [torch.empty(size, dtype=torch.uint8, device="mps") for size in sizes]
        self.addresses = [copy.data_ptr() for copy in self._copies]

    def send(self) -> None:
        for array, copy in zip(self.arrays, self._copies, strict=True):
            copy.copy_(torch.from_numpy(array.view(np.uint8)))

    def fetch(self) -> None:
        for array, copy in zip(self.arrays, self._copies, strict=True):
            array[...] = copy.cpu().numpy().view(array.dtype)


Memory = HostMemory | GpuMemory

# The test after which the GPU answered no more: an error that a kernel causes stays until the
# process ends.
_lost_in: list[str] = []


@dataclass(frozen=True)
class Launcher:
    target: Kernels
    path: str

    def compile(self, source: str, options: LanguageOptions | None = None) -> Library:
        library = parse_library(source, options=options)
        self.target.open(library)
        return library

    def memory(self, arrays: Sequence[np.ndarray]) -> Memory:
        return HostMemory(arrays) if self.path in CPU_PATHS else GpuMemory(arrays)

    def run(
        self,
        library: Library,
        kernel: str,
        memory: Memory,
        threads: Sequence[int],
        group: Sequence[int],
        dynamic: Mapping[int, int] | None = None,
    ) -> None:
        """Runs in place: what the kernel writes is in the arrays afterwards."""
        assert len(memory.arrays) <= BUFFERS
        compiled = self.target.kernel(library, kernel)
        sizes = [array.nbytes for array in memory.arrays]
        extents = np.array([*zip(memory.addresses, sizes, strict=True)], np.uint64)
        block = ctypes.create_string_buffer(
            dispatch_struct(len(sizes)).pack(
                compiled.header,
                *[*threads, 1, 1][:3],
                *[*group, 1, 1][:3],
                *memory.addresses,
                *sizes,
                extents.ctypes.data,
                len(extents),
                0,
            )
        )
        for index, size in (dynamic or {}).items():
            struct.pack_into("I", block, DYNAMIC_OFFSET + 4 * index, size)
        memory.send()
        compiled.launch(ctypes.addressof(block))
        memory.fetch()


def make_launcher(path: str) -> Launcher:
    return Launcher(target_of(path), path)


@pytest.fixture(params=PATHS)
def launcher(request: pytest.FixtureRequest) -> Iterator[Launcher]:
    if _lost_in:
        pytest.skip(f"the GPU was lost in {_lost_in[0]}")
    yield make_launcher(request.param)
    if ENGINE == "cuda":
        try:
            torch.mps.synchronize()
        except RuntimeError:
            _lost_in.append(request.node.name)
            raise


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
