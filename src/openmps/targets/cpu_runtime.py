"""The C++ runtime that runs kernels on the processor: built once, loaded once. No torch.

Its launches release the GIL. Ctrl-C stops a launch of the main thread; one of any other thread ends
by itself or by its time limit, because Python gives interrupts to the main thread only.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import math
import platform
import threading
from pathlib import Path
from typing import NoReturn

from openmps import settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.loading import load_built
from openmps.build.store import user_store
from openmps.errors import DispatchError, KernelFault, KernelTimeout, ShaderError
from openmps.targets.base import BUFFERS, SIMD_WIDTH

_PACKAGE = Path(__file__).parents[1]
SOURCES = _PACKAGE / "csrc_runtime"
_CONTRACTS = ("launch.h", "lanes.h")
_LIBRARY = "openmps_runtime.so"
_FLAGS = (
    "-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti",
    "-ffp-contract=off", "-pthread",
)  # fmt: skip


class Style(enum.IntEnum):
    """How a kernel is entered (csrc_runtime/api.h)."""

    BOXES = 0
    GROUPS = 1
    SIMDGROUPS = 2
    THREADS = 3


class _Code(enum.IntEnum):
    FINE = 0
    MEMORY_FAULT = 1
    ARITHMETIC_FAULT = 2
    ILLEGAL_INSTRUCTION = 3
    STACK_OVERFLOW = 4
    INTERRUPTED = 5
    TIME_LIMIT = 6
    OUT_OF_MEMORY = 7
    INVALID_DISPATCH = 8


class _Extent(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("bytes", ctypes.c_uint64))
    address: int
    bytes: int


class _Dispatch(ctypes.Structure):
    """For reading only, when something went wrong. targets/base.py tells how blocks are written."""

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
    )


class Report(ctypes.Structure):
    """How this thread's last launch went."""

    _fields_ = (
        ("code", ctypes.c_uint32),
        ("style", ctypes.c_uint32),
        ("address", ctypes.c_uint64),
        ("position", ctypes.c_uint32 * 3),
        ("simdgroup", ctypes.c_uint32),
        ("thread", ctypes.c_uint32),
        ("padded_pages", ctypes.c_uint32),
        ("workers", ctypes.c_uint32),
    )
    code: int
    style: int
    address: int
    simdgroup: int
    thread: int
    padded_pages: int
    workers: int


class Runtime:
    """The loaded library. Any thread may use it at any time."""

    def __init__(self, library: Path) -> None:
        # Kernels are linked against nothing: what they call is found here.
        ctypes.CDLL("libm.so.6", ctypes.RTLD_GLOBAL)
        self.has_libmvec = _load_if_there("libmvec.so.1")
        self._library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        self._launch = self._library.openmps_launch
        self._launch.argtypes = (ctypes.c_void_p,)
        self._launch.restype = ctypes.c_int
        self._last_report = self._library.openmps_last_report
        self._last_report.argtypes = ()
        self._last_report.restype = ctypes.POINTER(Report)

    def launch(self, dispatch: int, kernel: str) -> None:
        """Runs the dispatch at that address (targets/base.py). `kernel` is its name, for errors.

        Raises KernelFault, KernelTimeout, DispatchError, and on Ctrl-C what Python's handler of
        SIGINT raises. After any of these the buffers hold whatever the kernel had written by then.
        """
        code = self._launch(dispatch)
        if code:
            self._raise(_Code(code), dispatch, kernel)

    def last_report(self) -> Report:
        report: Report = Report.from_buffer_copy(self._last_report().contents)
        return report

    def _raise(self, code: _Code, address: int, kernel: str) -> NoReturn:
        dispatch = _Dispatch.from_address(address)
        report = self.last_report()
        if code is _Code.INTERRUPTED:
            _let_python_handle_signals()
            # A handler that returns does not make a half-done kernel a done one.
            raise KeyboardInterrupt
        if code is _Code.TIME_LIMIT:
            raise KernelTimeout(
                f"kernel '{kernel}' ran longer than {dispatch.time_limit_s:g} s and was stopped",
                found=f"it was in {_place(report)}",
                next_step="look for a loop that does not end or a wait for another threadgroup; "
                f"or raise the limit ({settings.SHADER_TIME_LIMIT.variable})",
            )
        if code is _Code.INVALID_DISPATCH:
            raise DispatchError(
                f"kernel '{kernel}' was asked to run with impossible sizes",
                found=f"grid {tuple(dispatch.grid)}, threadgroup {tuple(dispatch.group)}",
                next_step="a threadgroup has 1 to 1024 threads",
            )
        if code is _Code.OUT_OF_MEMORY:
            raise ShaderError(
                f"no memory to run kernel '{kernel}'",
                found="its stacks or its threadgroup memory could not be allocated, "
                f"{_stacks(dispatch)}",
                next_step="use smaller threadgroups, raise the limit (ulimit -v), or end other "
                "programs",
            )
        problem, found, next_step = _explain_fault(code, report, dispatch)
        raise KernelFault(
            f"kernel '{kernel}' {problem}",
            found=f"{found}, in {_place(report)}",
            next_step=next_step,
        )


@functools.cache
def _runtime() -> Runtime:
    return load_built(build, Runtime)


_lock = threading.Lock()


def runtime() -> Runtime:
    """The runtime of this process, built now if it never was on this machine."""
    with _lock:
        return _runtime()


def build(*, prebuilt: bool = True) -> Path:
    extra = settings.CXXFLAGS.read().split()
    sources = {file.name: file.read_bytes() for file in SOURCES.iterdir() if file.is_file()}
    for name in _CONTRACTS:
        sources[f"msl/{name}"] = (_PACKAGE / "include" / "msl" / name).read_bytes()
    return find_or_build(
        user_store("runtime"),
        build_key(sources, (platform.machine(), *_FLAGS, *extra)),
        _LIBRARY,
        "the runtime for Metal kernels",
        lambda: job(extra),
        prebuilt=prebuilt,
    )


def job(extra: list[str]) -> Job:
    return Job(
        units=[sorted(SOURCES.glob("*.cpp"))],
        compile_flags=[*_FLAGS, *extra],
        link_flags=[*extra, "-pthread", "-ldl", "-lm"],
    )


def _load_if_there(name: str) -> bool:
    try:
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def _let_python_handle_signals() -> None:
    """Python runs its handlers when a function starts."""


def _stacks(dispatch: _Dispatch) -> str:
    count = math.prod(dispatch.group)
    if dispatch.style == Style.SIMDGROUPS:
        count = -(-count // SIMD_WIDTH)
    return f"for {count} stacks of {dispatch.stack_bytes} bytes and more"


def _place(report: Report) -> str:
    x, y, z = report.position
    if report.style == Style.BOXES:
        return f"a thread at or after ({x}, {y}, {z}) of the grid"
    text = f"threadgroup ({x}, {y}, {z})"
    if report.style == Style.SIMDGROUPS:
        text += f", simdgroup {report.simdgroup}"
    elif report.style == Style.THREADS:
        text += f", thread {report.thread}"
    return text


def _explain_fault(code: _Code, report: Report, dispatch: _Dispatch) -> tuple[str, str, str]:
    """What happened, what was found, what to do."""
    if code is _Code.ARITHMETIC_FAULT:
        return (
            "made the processor fault on a division",
            "an integer divided by zero",
            "guard the division",
        )
    if code is _Code.ILLEGAL_INSTRUCTION:
        return (
            "ran into an instruction that this processor refuses",
            "code behind undefined behaviour, or built for another processor",
            "remove undefined behaviour; if there is none, empty openmps' cache and report this",
        )
    if code is _Code.STACK_OVERFLOW:
        lanes = dispatch.style == Style.SIMDGROUPS
        taken = f"its functions take {dispatch.stack_bytes} bytes" + (lanes * " for 32 threads")
        if report.address:
            taken += f", then an access at {report.address:#x}, below the stack"
        return (
            "needs more stack than a thread has",
            taken,
            "make its local arrays smaller, or end its recursion",
        )
    check = "check the indices against the sizes of the buffers"
    if report.address == 0:
        return "touched memory it must not", "an address no process has, or a null one", check
    return (
        "touched memory it must not",
        f"an access at {report.address:#x}, {_nearest(report.address, dispatch)}",
        check,
    )


def _nearest(address: int, dispatch: _Dispatch) -> str:
    """Where an address lies, seen from the nearest buffer."""
    extents = [
        (begin, size, f"buffer {index}")
        for index, (begin, size) in enumerate(
            zip(dispatch.buffers, dispatch.buffer_bytes, strict=True)
        )
        if begin and size
    ]
    further = (_Extent * dispatch.extent_count).from_address(dispatch.extents or address)
    extents += [(extent.address, extent.bytes, "a tensor in a list") for extent in further]
    if address < 1 << 16:
        return "close to null: a buffer that is not bound?"
    if not extents:
        return "and no buffer is bound"

    def distance(extent: tuple[int, int, str]) -> int:
        begin, size, _ = extent
        return max(begin - address, address - (begin + size - 1), 0)

    begin, size, name = min(extents, key=distance)
    if address < begin:
        return f"{begin - address} bytes before {name} ({size} bytes)"
    if address >= begin + size:
        return f"{address - begin - size} bytes after the end of {name} ({size} bytes)"
    return f"inside {name}, in memory that may not be written or was freed"
