"""Kernels on this machine's processor: builds them, once, and runs them.

A kernel whose threads do not coordinate becomes a loop over threads. One whose threads do becomes
code for 32 lanes in lock-step (emit/lanes/), or, for a compiler that is not clang, one fibre per
thread. docs/metal.md tells which is which and why.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable

from openmps import settings
from openmps.build.shader_compiler import ShaderCompiler, find_shader_compiler
from openmps.emit.entry import emit_check
from openmps.layouts import Dispatch
from openmps.msl.kernels import Kernel
from openmps.msl.library import Library
from openmps.targets.base import HEADER_BYTES, ValueMemory, sizes_of
from openmps.targets.cpu_builder import FIRST_AXIS, Builder, CpuOptions
from openmps.targets.cpu_loading import LoadedKernel, load_kernel
from openmps.targets.cpu_runtime import Runtime, Style, runtime

# Of programs with more kernels (PyTorch's have thousands) each is checked when it is asked for.
MOST_CHECKED_AT_ONCE = 24


class CpuTarget:
    def __init__(self, options: CpuOptions | None = None) -> None:
        self.options = options or CpuOptions()

    def open(self, library: Library) -> None:
        """Checks the whole source. Raises ShaderSyntaxError."""
        compiler = find_shader_compiler()
        names = list(library.kernels)
        text = emit_check(library, names if len(names) <= MOST_CHECKED_AT_ONCE else [])
        Builder(library, compiler, self.options).check(text)

    def check(self, library: Library, name: str) -> None:
        """Checks one kernel. Raises ShaderSyntaxError."""
        builder = Builder(library, find_shader_compiler(), self.options)
        builder.check_kernel(library.kernels[name])

    def emitted(self, library: Library, name: str) -> dict[str, str]:
        """What is generated for a kernel, by kind of text."""
        builder = Builder(library, find_shader_compiler(), self.options)
        return builder.emitted(library.kernels[name])

    def value_memory(self, size_bytes: int) -> ValueMemory:
        return runtime().isolated(size_bytes)

    def kernel(self, library: Library, name: str) -> CpuKernel:
        return CpuKernel(library, library.kernels[name], find_shader_compiler(), self.options)


class CpuKernel:
    """A kernel in one or, if threads lie differently in other threadgroups, several builds."""

    def __init__(
        self, library: Library, kernel: Kernel, compiler: ShaderCompiler, options: CpuOptions
    ) -> None:
        self.name = kernel.name
        self._kernel = kernel
        self._options = options
        self._builder = Builder(library, compiler, options)
        self._lock = threading.Lock()
        self._runtime: Runtime = runtime()
        self._headers: dict[str, bytes] = {}
        self._loaded: list[LoadedKernel] = []  # what the headers point into
        first = self._build(FIRST_AXIS)
        self.max_threads = first.max_threads
        self.static_threadgroup_bytes = first.threadgroup_bytes
        self.header = self._headers[FIRST_AXIS]
        self.style = first.style

    def launch(self, dispatch: int) -> None:
        if self.style is Style.SIMDGROUPS:
            axis = lane_axis(*sizes_of(dispatch))
            if axis != FIRST_AXIS:
                ctypes.memmove(dispatch, self._header_for(axis), HEADER_BYTES)
        self._runtime.launch(dispatch, self.name, self._kernel)

    def _header_for(self, axis: str) -> bytes:
        header = self._headers.get(axis)
        if header is None:
            with self._lock:
                if axis not in self._headers:
                    self._build(axis)
                header = self._headers[axis]
        return header

    def _build(self, axis: str) -> LoadedKernel:
        path = self._builder.find_or_build(self._kernel, axis)
        loaded = load_kernel(path, self._kernel.looks_at_grid_only)
        self._loaded.append(loaded)
        dispatch = Dispatch(
            loaded.entry,
            loaded.style.value,
            loaded.threadgroup_bytes // 16 if loaded.style is Style.SIMDGROUPS else 0,
            self._options.workers(),
            settings.shader_time_limit(),
            min(loaded.stack_bytes, 2**32 - 1),
        )
        self._headers[axis] = bytes(dispatch)[:HEADER_BYTES]
        return loaded


def lane_axis(grid: Iterable[int], group: Iterable[int]) -> str:
    """How a simdgroup's 32 threads lie: in a line of threads, along x, along y, or "any"."""
    x, y, z = group
    edge_x, edge_y, _ = (whole % part or part for whole, part in zip(grid, (x, y, z), strict=True))
    if y == z == 1:
        return "line"
    if x % 32 == 0 and edge_x % 32 == 0:
        return "x"
    if x == 1 and (z == 1 or (y % 32 == 0 and edge_y % 32 == 0)):
        return "y"
    return "any"
