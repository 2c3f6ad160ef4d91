"""The structures that Python and C++ hand to each other: Python's half, and the check of the two.

C++'s half is in include/msl/launch/ and in csrc_runtime/api.h, csrc_cuda/*.h and
csrc/metal/shader_calls.h, under the same names. Each native library brings a table of where its
fields lie, which `check` compares with these when the library is loaded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator

from openmps.errors import OpenmpsError

BUFFERS = 31  # [[buffer(0)]] to [[buffer(30)]]
SIMD_WIDTH = 32
INLINE_BYTES = 512  # of values that travel with a launch on a GPU

# ---- include/msl/launch/launch.h: what a kernel on the CPU is given


class Launch(ctypes.Structure):
    _fields_ = (
        ("buffers", ctypes.c_void_p),
        ("grid", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        ("dynamic_offset", ctypes.c_uint32 * BUFFERS),
    )


class Threadgroup(ctypes.Structure):
    _fields_ = (
        ("position", ctypes.c_uint32 * 3),
        ("shape", ctypes.c_uint32 * 3),
        ("threads", ctypes.c_uint32),
        ("simdgroups", ctypes.c_uint32),
        ("dynamic", ctypes.c_void_p),
    )


# ---- include/msl/launch/cuda_launch.h: what a kernel on a GPU is given


class CudaLaunch(ctypes.Structure):
    _fields_ = (
        ("buffers", ctypes.c_uint64 * BUFFERS),
        ("grid", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
        ("groups", ctypes.c_uint32 * 3),
        ("flat", ctypes.c_uint32),
        ("dynamic_offset", ctypes.c_uint32 * BUFFERS),
        ("inline_offset", ctypes.c_uint16 * BUFFERS),
        ("nothing", ctypes.c_uint16),
        ("_padding", ctypes.c_uint32),  # `bytes` is aligned to 16
        ("bytes", ctypes.c_ubyte * INLINE_BYTES),
    )


# ---- csrc_runtime/api.h: what a target is asked to run, and how it went


class Extent(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64))
    address: int
    bytes: int


class Dispatch(ctypes.Structure):
    """Read when something went wrong. targets/base.py tells how blocks are written."""

    _fields_ = (
        ("entry", ctypes.c_uint64),
        ("style", ctypes.c_uint16),
        ("variables", ctypes.c_uint16),
        ("workers", ctypes.c_uint32),
        ("time_limit_s", ctypes.c_float),
        ("stack_bytes", ctypes.c_uint32),
        ("grid", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
        ("buffers", ctypes.c_uint64 * BUFFERS),
        ("buffer_bytes", ctypes.c_uint64 * BUFFERS),
        ("extents", ctypes.c_uint64),
        ("extent_count", ctypes.c_uint64),
        ("dynamic_bytes", ctypes.c_uint32 * BUFFERS),
        ("copied", ctypes.c_uint32),
    )


class Report(ctypes.Structure):
    """How a thread's last launch went."""

    _fields_ = (
        ("code", ctypes.c_uint32),
        ("style", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("position", ctypes.c_uint32 * 3),
        ("simdgroup", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("padded_pages", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
        ("thread_known", ctypes.c_uint32),
        ("thread_in_grid", ctypes.c_uint32 * 3),
        ("threadgroup_memory", ctypes.c_uint64),
        ("threadgroup_bytes", ctypes.c_uint64),
    )
    code: int
    style: int
    address: int
    simdgroup: int
    thread: int
    padded_pages: int
    workers: int
    thread_known: int
    threadgroup_memory: int
    threadgroup_bytes: int


# ---- csrc_cuda/driver.h and launch.h: the driver, and a kernel that it has loaded


class CudaDriver(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_void_p) for name in (
            "get_context", "set_context", "launch", "allocate", "copy_from_host", "copy",
            "release", "error_text", "context",
        )),
    )  # fmt: skip


class CudaKernel(ctypes.Structure):
    _fields_ = (
        ("driver", ctypes.c_void_p),
        ("name", ctypes.c_char_p),
        ("inlined", ctypes.c_uint32),
        ("declared", ctypes.c_uint32),
        ("functions", ctypes.c_void_p * 5),
    )


# ---- csrc/metal/shader_calls.h: kernels of C++ extensions


class ShaderAnswer(ctypes.Structure):
    _fields_ = (
        ("numbers", ctypes.c_uint64 * 4),
        ("text", ctypes.c_char_p),
        ("text_bytes", ctypes.c_uint64),
        ("failure", ctypes.c_uint32),
    )


class ShaderLaunch(ctypes.Structure):
    _fields_ = (
        ("grid", ctypes.c_uint32 * 3),
        ("group", ctypes.c_uint32 * 3),
        ("bound", ctypes.c_uint64),
        ("copied", ctypes.c_uint64),
        ("addresses", ctypes.c_uint64 * BUFFERS),
        ("sizes", ctypes.c_uint64 * BUFFERS),
    )


# ---- the check


class _Field(ctypes.Structure):
    """FieldLayout of csrc_runtime/layout.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("offset", ctypes.c_uint32),
        ("bytes", ctypes.c_uint32),
    )
    name: bytes | None
    offset: int
    bytes: int


Place = tuple[int, int]  # offset and size


def places(structure: type[ctypes.Structure]) -> dict[str, Place]:
    """Where a structure's fields lie, and under its own name how large it is."""
    found = {structure.__name__: (0, ctypes.sizeof(structure))}
    for field in structure._fields_:
        if not field[0].startswith("_"):
            member = getattr(structure, field[0])
            found[f"{structure.__name__}.{field[0]}"] = (member.offset, member.size)
    return found


def check(library: ctypes.CDLL, table: str, structures: Iterable[type[ctypes.Structure]]) -> None:
    """Compares the library's table of that name with these structures. Raises OpenmpsError."""
    theirs = dict(_read(ctypes.addressof(_Field.in_dll(library, table))))
    ours: dict[str, Place] = {}
    for structure in structures:
        ours |= places(structure)
    for name in sorted(theirs.keys() | ours.keys()):
        if theirs.get(name) != ours.get(name):
            raise OpenmpsError(
                "a native library of openmps and its Python files do not belong together",
                found=f"{name} in {library._name} {_told(theirs.get(name))}, in layouts.py "
                f"{_told(ours.get(name))}",
                next_step="reinstall openmps; after a change to one of the two, change the other",
            )


def _read(address: int) -> Iterator[tuple[str, Place]]:
    while name := (field := _Field.from_address(address)).name:
        yield name.decode(), (field.offset, field.bytes)
        address += ctypes.sizeof(_Field)


def _told(place: Place | None) -> str:
    return "is missing" if place is None else f"has {place[1]} bytes at {place[0]}"
