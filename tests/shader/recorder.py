"""A target that runs nothing and remembers what it was asked to run."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable
from dataclasses import dataclass

import torch

from openmps.layouts import BUFFERS
from openmps.msl.library import Library
from openmps.shader.library import ShaderLibrary, compile_shader
from openmps.targets.base import DISPATCH_BYTES, PlainMemory

HEADER = bytes(range(24))


@dataclass(frozen=True)
class Launch:
    header: bytes
    grid: tuple[int, ...]
    group: tuple[int, ...]
    buffers: tuple[int, ...]
    sizes: tuple[int, ...]
    extents: list[tuple[int, int]]
    memory: dict[int, int]
    copied: frozenset[int]  # buffers that are values, in the host's memory
    data: tuple[bytes, ...]  # the first 16 bytes of each of these

    def floats(self, index: int, count: int = 1) -> tuple[float, ...]:
        assert index in self.copied
        return struct.unpack(f"={count}f", ctypes.string_at(self.buffers[index], 4 * count))


class Recorder:
    def __init__(
        self,
        max_threads: int = 1024,
        static_bytes: int = 0,
        check: Callable[[Launch], None] | None = None,
    ) -> None:
        self.header = HEADER
        self.max_threads = max_threads
        self.static_threadgroup_bytes = static_bytes
        self.launches: list[Launch] = []
        self.built: list[str] = []
        self._check = check

    def value_memory(self, size_bytes: int) -> PlainMemory:
        return PlainMemory(size_bytes)

    def open(self, library: Library) -> None:
        pass

    def kernel(self, library: Library, name: str) -> Recorder:
        self.built.append(name)
        return self

    def launch(self, dispatch: int) -> None:
        block = ctypes.string_at(dispatch, DISPATCH_BYTES)
        fields = struct.unpack(f"=24s6I{BUFFERS}Q{BUFFERS}Q2Q{BUFFERS}II", block)
        buffers = fields[7 : 7 + BUFFERS]
        sizes = fields[7 + BUFFERS : 7 + 2 * BUFFERS]
        table, count = fields[7 + 2 * BUFFERS : 9 + 2 * BUFFERS]
        pairs = struct.unpack(f"={2 * count}Q", ctypes.string_at(table, 16 * count))
        copied = {n for n in range(BUFFERS) if fields[-1] >> n & 1}
        launch = Launch(
            header=fields[0],
            grid=fields[1:4],
            group=fields[4:7],
            buffers=buffers,
            sizes=sizes,
            extents=list(zip(pairs[::2], pairs[1::2], strict=True)),
            memory={n: size for n, size in enumerate(fields[9 + 2 * BUFFERS : -1]) if size},
            copied=frozenset(copied),
            data=tuple(
                ctypes.string_at(address, min(size, 16)) if n in copied else b""
                for n, (address, size) in enumerate(zip(buffers, sizes, strict=True))
            ),
        )
        self.launches.append(launch)
        if self._check:
            self._check(launch)

    @property
    def last(self) -> Launch:
        return self.launches[-1]


def core() -> object:
    """The device core, by way of a function that it put on torch."""
    return torch._C._mps_host_alias_storage.__self__


def record(source: str, recorder: Recorder, macos: tuple[int, int] = (26, 0)) -> ShaderLibrary:
    return compile_shader(source, macos, core(), recorder)
