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
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from openmps import layouts, settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.loading import load_built
from openmps.build.store import user_store
from openmps.errors import DispatchError, KernelFault, KernelTimeout, ShaderError
from openmps.layouts import SIMD_WIDTH, Dispatch, Extent, Launch, Report, Threadgroup
from openmps.targets import cpu_faults

if TYPE_CHECKING:
    from openmps.msl.kernels import Kernel

_PACKAGE = Path(__file__).parents[1]
SOURCES = _PACKAGE / "csrc_runtime"
_CONTRACTS = ("launch/counts.h", "launch/launch.h", "threads/lanes.h")
_LIBRARY = "openmps_runtime.so"
_STRUCTURES = (Launch, Threadgroup, Extent, Dispatch, Report)
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


class Isolated:
    """Zeros that lie far from everything else in the process (csrc_runtime/slots.h)."""

    def __init__(self, library: ctypes.CDLL, size_bytes: int) -> None:
        take = library.openmps_map_isolated
        take.argtypes, take.restype = (ctypes.c_uint64,), ctypes.c_void_p
        address = take(size_bytes)
        if not address:
            raise MemoryError(f"no {size_bytes} bytes for the arguments of a Metal kernel")
        self.address: int = address
        room = (ctypes.c_char * size_bytes).from_address(address)
        self.memory = memoryview(room).cast("B")
        self._give_back = library.openmps_unmap_isolated
        self._give_back.argtypes, self._give_back.restype = (ctypes.c_void_p, ctypes.c_uint64), None

    def __del__(self) -> None:
        if hasattr(self, "_give_back"):
            self._give_back(self.address, len(self.memory))


class Runtime:
    """The loaded library. Any thread may use it at any time."""

    def __init__(self, library: Path) -> None:
        # Kernels are linked against nothing: what they call is found here.
        ctypes.CDLL("libm.so.6", ctypes.RTLD_GLOBAL)
        self.has_libmvec = _load_if_there("libmvec.so.1")
        self._library = ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
        layouts.check(self._library, "openmps_runtime_layout", _STRUCTURES)
        self._launch = self._library.openmps_launch
        self._launch.argtypes = (ctypes.c_void_p,)
        self._launch.restype = ctypes.c_int
        self._last_report = self._library.openmps_last_report
        self._last_report.argtypes = ()
        self._last_report.restype = ctypes.POINTER(Report)

    def launch(self, dispatch: int, name: str, kernel: Kernel | None = None) -> None:
        """Runs the dispatch at that address (targets/base.py). The rest is for errors.

        Raises KernelFault, KernelTimeout, DispatchError, and on Ctrl-C what Python's handler of
        SIGINT raises. After any of these the buffers hold whatever the kernel had written by then.
        """
        code = self._launch(dispatch)
        if code:
            self._raise(_Code(code), dispatch, name, kernel)

    def isolated(self, size_bytes: int) -> Isolated:
        """Memory for values that kernels see."""
        return Isolated(self._library, size_bytes)

    def last_report(self) -> Report:
        report: Report = Report.from_buffer_copy(self._last_report().contents)
        return report

    def _raise(self, code: _Code, address: int, name: str, kernel: Kernel | None) -> NoReturn:
        dispatch = Dispatch.from_address(address)
        report = self.last_report()
        if code is _Code.INTERRUPTED:
            _let_python_handle_signals()
            # A handler that returns does not make a half-done kernel a done one.
            raise KeyboardInterrupt
        if code is _Code.TIME_LIMIT:
            raise KernelTimeout(
                f"kernel '{name}' ran longer than {dispatch.time_limit_s:g} s and was stopped",
                found=f"it was in {_place(report)}",
                next_step="look for a loop that does not end or a wait for another threadgroup; "
                f"or raise the limit ({settings.SHADER_TIME_LIMIT.variable})",
            )
        if code is _Code.INVALID_DISPATCH:
            raise DispatchError(
                f"kernel '{name}' was asked to run with impossible sizes",
                found=f"grid {tuple(dispatch.grid)}, threadgroup {tuple(dispatch.group)}",
                next_step="a threadgroup has 1 to 1024 threads",
            )
        if code is _Code.OUT_OF_MEMORY:
            raise ShaderError(
                f"no memory to run kernel '{name}'",
                found="its stacks or its threadgroup memory could not be allocated, "
                f"{_stacks(dispatch)}",
                next_step="use smaller threadgroups, raise the limit (ulimit -v), or end other "
                "programs",
            )
        problem, found, next_step = _explain_fault(code, report, dispatch, kernel)
        raise KernelFault(
            f"kernel '{name}' {problem}",
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


def _stacks(dispatch: Dispatch) -> str:
    count = math.prod(dispatch.group)
    if dispatch.style == Style.SIMDGROUPS:
        count = -(-count // SIMD_WIDTH)
    return f"for {count} stacks of {dispatch.stack_bytes} bytes and more"


def _place(report: Report) -> str:
    style = Style(report.style)
    return cpu_faults.place(report, in_box=style is Style.BOXES, style=style.name.lower())


def _explain_fault(
    code: _Code, report: Report, dispatch: Dispatch, kernel: Kernel | None
) -> tuple[str, str, str]:
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
    near = cpu_faults.nearest(report.address, _memories(dispatch, report, kernel))
    return (
        "touched memory it must not",
        f"an access at {report.address:#x}, {near}",
        check,
    )


def _memories(
    dispatch: Dispatch, report: Report, kernel: Kernel | None
) -> Iterator[cpu_faults.Memory]:
    """What the kernel has pointers to; of a kernel that nobody knows, all that is bound."""
    pointers = {} if kernel is None else {p.index: p for p in cpu_faults.pointers(kernel)}
    for index, (begin, size) in enumerate(
        zip(dispatch.buffers, dispatch.buffer_bytes, strict=True)
    ):
        if kernel is None or index in pointers:
            yield cpu_faults.Memory(begin or 0, size, f"buffer {index}", pointers.get(index))
    if dispatch.extents:
        further = (Extent * dispatch.extent_count).from_address(dispatch.extents)
        for extent in further:
            yield cpu_faults.Memory(extent.address, extent.bytes, "a tensor in a list")
    yield cpu_faults.Memory(
        report.threadgroup_memory, report.threadgroup_bytes, "the threadgroup memory"
    )
