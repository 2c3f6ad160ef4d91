"""What a target owes its callers. Knows no real target; addresses are integers.

A launch passes one block of memory, so that a call costs one foreign call. The block is a Dispatch
(layouts.py), which Python writes in one go:

    24 bytes      the kernel's own: CompiledKernel.header, which the caller copies
    uint32[3]     threads in the grid, at least 1 each
    uint32[3]     threads in a threadgroup, at least 1 each
    void*[31]     what is bound to [[buffer(n)]]; null where nothing is
    uint64[31]    its bytes; 0 where they are not known
    Extent*       further memory that the buffers point to: pairs of address and bytes
    uint64        how many
    uint32[31]    bytes asked for [[threadgroup(n)]]
    uint32        bit n: buffer n is a value in the host's memory, no memory of the device's
"""

from __future__ import annotations

import ctypes
from struct import Struct
from typing import TYPE_CHECKING, Protocol

from openmps.layouts import BUFFERS, Dispatch

if TYPE_CHECKING:
    from openmps.msl.library import Library

HEADER_BYTES = Dispatch.grid.offset
DYNAMIC_OFFSET = Dispatch.dynamic_bytes.offset
DISPATCH_BYTES = ctypes.sizeof(Dispatch)
_string_at, _unpack_sizes = ctypes.string_at, Struct("=6I").unpack
_UNTIL_COPIED = Dispatch.copied.offset - DYNAMIC_OFFSET


def dispatch_struct(bound: int) -> Struct:
    """Packs a block in one go: header, grid, group, `bound` addresses, as many sizes, extents and
    their count, and which buffers are values. Everything else becomes zero."""
    rest = 8 * (BUFFERS - bound)
    return Struct(f"={HEADER_BYTES}s3I3I{bound}Q{rest}x{bound}Q{rest}x2Q{_UNTIL_COPIED}xI")


def sizes_of(dispatch: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Grid and threadgroup of the dispatch at that address."""
    sizes = _unpack_sizes(_string_at(dispatch + HEADER_BYTES, 24))
    return sizes[:3], sizes[3:]


class ValueMemory(Protocol):
    """Bytes for arguments that are values. Kept as long as the object is."""

    @property
    def address(self) -> int: ...

    @property
    def memory(self) -> memoryview: ...


class PlainMemory:
    """Ordinary memory of this process, for devices that copy values from there."""

    def __init__(self, size_bytes: int) -> None:
        align = 64  # more than any Metal type asks for
        self._room = ctypes.create_string_buffer(size_bytes + align)
        self.address = -(-ctypes.addressof(self._room) // align) * align
        room = (ctypes.c_char * size_bytes).from_address(self.address)
        self.memory = memoryview(room).cast("B")


class CompiledKernel(Protocol):
    """One kernel, ready to run. Any thread may use it at any time."""

    @property
    def header(self) -> bytes:
        """The first 24 bytes of each dispatch. Read at every launch: an attribute, not work."""

    @property
    def max_threads(self) -> int:
        """Threads that a threadgroup may have: 1024, or what the source asks for."""

    @property
    def static_threadgroup_bytes(self) -> int:
        """Threadgroup memory that the kernel declares, in bytes."""

    def launch(self, dispatch: int, /) -> None:
        """Runs the dispatch at that address, without the GIL; returns when it is done, or where
        the device has a queue, when it is queued.

        The caller has checked the sizes and keeps the block and all host memory it names alive
        until then. Raises KernelFault or KernelTimeout, and what a signal handler raises (Ctrl-C).
        """


class Target(Protocol):
    """A kind of machine. Any thread may use it at any time."""

    def open(self, library: Library, /) -> None:
        """Checks the whole source, once. Raises ShaderSyntaxError."""

    def value_memory(self, size_bytes: int, /) -> ValueMemory:
        """Zeros, aligned for any Metal type, where kernels may be shown them."""

    def kernel(self, library: Library, name: str, /) -> CompiledKernel:
        """Builds a kernel that `library` lists, or finds it built. Raises ShaderError."""
