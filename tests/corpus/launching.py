"""Runs a corpus's kernels on torch's CPU tensors, through their addresses."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import torch

from corpus.sources import Corpus, library
from openmps.layouts import BUFFERS
from openmps.targets.base import DYNAMIC_OFFSET, dispatch_struct
from openmps.targets.cpu import CpuKernel, CpuTarget
from openmps.targets.cpu_builder import CpuOptions

Buffer: TypeAlias = "torch.Tensor | bytes | None"

DTYPES = {
    "float": torch.float32, "half": torch.float16, "bfloat": torch.bfloat16,
    "long": torch.int64, "int": torch.int32, "short": torch.int16, "char": torch.int8,
    "uchar": torch.uint8, "bool": torch.bool, "float2": torch.complex64,
    "half2": torch.complex32,
}  # fmt: skip


def _vector(code: str, values: Sequence[float]) -> bytes:
    """A scalar or a vector; three components take the room of four."""
    padded = [*values, 0] if len(values) == 3 else [*values]
    return struct.pack(f"={len(padded)}{code}", *padded)


def uint(*values: int) -> bytes:
    return _vector("I", values)


def int32(*values: int) -> bytes:
    return _vector("i", values)


def long(*values: int) -> bytes:
    return _vector("q", values)


def ulong(*values: int) -> bytes:
    return _vector("Q", values)


def float32(*values: float) -> bytes:
    return _vector("f", values)


def uchar(*values: int) -> bytes:
    return _vector("B", values)


def longs(values: Sequence[int]) -> bytes:
    """An array: no padding."""
    return struct.pack(f"={len(values)}q", *values)


def uints(values: Sequence[int]) -> bytes:
    return struct.pack(f"={len(values)}I", *values)


def scalar(value: complex, name: str) -> bytes:
    """`value` as one of Metal's types, by its name."""
    return bytes(torch.tensor([value], dtype=DTYPES[name]).view(torch.uint8).tolist())


def byte_strides(tensor: torch.Tensor) -> list[int]:
    return [stride * tensor.element_size() for stride in tensor.stride()]


class Runner:
    """Launches the kernels of one file; remembers which, and over what grid."""

    def __init__(self, corpus: Corpus, file: Path, options: CpuOptions) -> None:
        self.library = library(corpus, file)
        self.launched: dict[str, tuple[tuple[int, ...], tuple[int, ...]]] = {}
        self._target = CpuTarget(options)
        self._kernels: dict[str, CpuKernel] = {}

    def __call__(
        self,
        name: str,
        *buffers: Buffer,
        threads: Sequence[int],
        group: Sequence[int] = (),
        dynamic: Mapping[int, int] | None = None,
        reached: Sequence[torch.Tensor] = (),
    ) -> None:
        """threads: of the whole grid. reached: tensors that buffers hold addresses of."""
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = self._kernels[name] = self._target.kernel(self.library, name)
        grid = (*threads, 1, 1)[:3]
        shape = (*(group or _usual_group(grid)), 1, 1)[:3]
        kept = [self._place(buffer) for buffer in buffers]
        extents = struct.pack(
            f"={2 * len(reached)}Q",
            *(
                n
                for tensor in reached
                for n in (tensor.data_ptr(), tensor.untyped_storage().nbytes())
            ),
        )
        extent_room = ctypes.create_string_buffer(extents, max(len(extents), 1))
        block = bytearray(
            dispatch_struct(len(kept)).pack(
                kernel.header,
                *grid,
                *shape,
                *(address for address, _, _ in kept),
                *(size for _, size, _ in kept),
                ctypes.addressof(extent_room) if reached else 0,
                len(reached),
                0,
            )
        )
        for index, size in (dynamic or {}).items():
            assert index < BUFFERS
            struct.pack_into("=I", block, DYNAMIC_OFFSET + 4 * index, size)
        room = ctypes.create_string_buffer(bytes(block), len(block))
        self.launched[name] = (grid, shape)
        kernel.launch(ctypes.addressof(room))

    @staticmethod
    def _place(buffer: Buffer) -> tuple[int, int, object]:
        if buffer is None:
            return 0, 0, None
        if isinstance(buffer, bytes):
            room = ctypes.create_string_buffer(buffer, len(buffer) + 64)
            return ctypes.addressof(room), len(buffer), room
        size = buffer.untyped_storage().nbytes() - buffer.storage_offset() * buffer.element_size()
        return buffer.data_ptr(), size, buffer


def _usual_group(grid: Sequence[int]) -> tuple[int, ...]:
    """Small groups, so that there are several, edge ones among them."""
    x, y, z = grid
    if y == z == 1:
        return (min(x, 64),)
    return (min(x, 16), min(y, 8), min(z, 2))
