"""The file of a built kernel: loaded into this process, and what can be read in it."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from openmps.build.loading import does_not_load
from openmps.emit.lanes.module import VARIABLES
from openmps.errors import ShaderError
from openmps.targets.cpu_runtime import Style, runtime

STACK = "openmps_stack_bytes"  # a symbol whose address is that number

_close_library = ctypes.CDLL(None).dlclose
_close_library.argtypes, _close_library.restype = (ctypes.c_void_p,), ctypes.c_int


class KernelLibrary:
    """A kernel's file, in this process while somebody holds this object. No launch outlives its
    kernel, so no thread is in its code by then."""

    def __init__(self, path: Path) -> None:
        self.loaded = _open_library(path)

    def __del__(self, close: Callable[[int], object] = _close_library) -> None:
        if hasattr(self, "loaded"):
            close(self.loaded._handle)


def _open_library(path: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        _, missing, name = str(error).partition("undefined symbol: ")
        if not missing:
            raise does_not_load(error) from error
        raise ShaderError(
            "a Metal kernel calls a function that is declared and not defined",
            found=name,
            next_step="define it in the shader, or remove the call",
        ) from error


@dataclass(frozen=True)
class LoadedKernel:
    library: KernelLibrary
    entry: int
    style: Style
    max_threads: int
    threadgroup_bytes: int
    stack_bytes: int


def load_kernel(path: Path, grid_only: bool) -> LoadedKernel:
    runtime()
    held = KernelLibrary(path)
    library = held.loaded
    styles = {
        "openmps_plain": Style.BOXES if grid_only else Style.GROUPS,
        "openmps_simdgroup": Style.SIMDGROUPS,
        "openmps_thread": Style.THREADS,
    }
    for name, style in styles.items():
        if hasattr(library, name):
            address = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            assert address is not None
            limit = ctypes.c_uint.in_dll(library, "openmps_max_threads").value
            if style is Style.SIMDGROUPS:
                variables = ctypes.c_uint.in_dll(library, VARIABLES).value
            else:
                variables = thread_local_bytes(path)
            stack = ctypes.addressof(ctypes.c_char.in_dll(library, STACK))
            return LoadedKernel(held, address, style, min(limit, 1024), variables, stack)
    raise AssertionError(f"{path} exports no entry")


def thread_local_bytes(path: Path) -> int:
    """The size of a library's thread-local segment: kernels keep threadgroup memory there only."""
    for kind, _, in_memory in _segments(path.read_bytes()):
        if kind == _PT_TLS:
            return -(-in_memory // 16) * 16
    return 0


def runs_at_load(path: Path) -> bool:
    """A kernel's library must do nothing by itself: only a launch is guarded."""
    tags = (
        tag
        for kind, content, _ in _segments(path.read_bytes())
        if kind == _PT_DYNAMIC
        for tag, _ in struct.iter_unpack("<QQ", content)
    )
    return any(tag in _RUN_AT_LOAD for tag in tags)


_PT_DYNAMIC, _PT_TLS = 2, 7
_RUN_AT_LOAD = frozenset({12, 13, 25, 26, 32})  # DT_INIT, DT_FINI and arrays of such functions


def _segments(image: bytes) -> Iterator[tuple[int, bytes, int]]:
    """Of an ELF file: the kind of each segment, its bytes, and its size in memory."""
    offset = struct.unpack_from("<Q", image, 32)[0]
    size, count = struct.unpack_from("<HH", image, 54)
    for number in range(count):
        kind, _, begin, _, _, in_file, in_memory = struct.unpack_from(
            "<IIQQQQQ", image, offset + number * size
        )
        yield kind, image[begin : begin + in_file], in_memory
