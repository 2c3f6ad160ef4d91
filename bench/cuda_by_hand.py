"""CUDA C++ without a compiler driver: NVRTC and the driver API, through cuda-bindings.

In the primary context, which torch has made current, on the stream that torch uses.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cuda.bindings import driver, nvrtc

from openmps.bench.measure import Pair

Call = Callable[[], object]
DEFAULT_STREAM = 0
FLAGS: list[bytes] = []  # besides the architecture: a benchmark compares with NVRTC's defaults


def checked(answer: tuple[Any, ...]) -> Any:
    """What a function of cuda-bindings returns, less its error code."""
    code, *rest = answer
    if int(code) != 0:
        raise SystemExit(f"CUDA answered {code.__class__.__name__}.{code.name}")
    return rest[0] if len(rest) == 1 else rest


def compile_cuda(text: str, architecture: str) -> bytes:
    program = checked(nvrtc.nvrtcCreateProgram(text.encode(), b"by_hand.cu", 0, [], []))
    options = [f"--gpu-architecture={architecture}".encode(), *FLAGS]
    (code,) = nvrtc.nvrtcCompileProgram(program, len(options), options)
    if int(code) != 0:
        log = b" " * checked(nvrtc.nvrtcGetProgramLogSize(program))
        checked(nvrtc.nvrtcGetProgramLog(program, log))
        raise SystemExit(f"NVRTC refused the CUDA text:\n{log.decode()}")
    cubin = b" " * checked(nvrtc.nvrtcGetCUBINSize(program))
    checked(nvrtc.nvrtcGetCUBIN(program, cubin))
    return cubin


def this_architecture() -> str:
    device = checked(driver.cuCtxGetDevice())
    kinds = driver.CUdevice_attribute
    major, minor = (
        checked(driver.cuDeviceGetAttribute(kind, device))
        for kind in (
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            kinds.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
        )
    )
    return f"sm_{major}{minor}"


class ByHand:
    """The kernels of a CUDA source file."""

    def __init__(self, source: Path) -> None:
        if int(checked(driver.cuCtxGetCurrent())) == 0:
            raise SystemExit("no CUDA context is current; make a tensor on the device first")
        self._cubin = compile_cuda(source.read_text(), this_architecture())
        self._module = checked(driver.cuModuleLoadData(self._cubin))

    def call(
        self, name: str, grid: tuple[int, int], block: tuple[int, int], *arguments: Any
    ) -> Call:
        """Arguments are addresses (int) or ctypes values."""
        function = checked(driver.cuModuleGetFunction(self._module, name.encode()))
        values = [ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments]
        pointers = (ctypes.c_void_p * len(values))(*map(ctypes.addressof, values))
        address = ctypes.addressof(pointers)
        launch = driver.cuLaunchKernel

        def run(_alive: object = (values, pointers)) -> None:
            checked(launch(function, *grid, 1, *block, 1, 0, DEFAULT_STREAM, address, 0))

        return run


def copy(target: int, source: int, size_bytes: int) -> Call:
    """The driver's own copy within the card."""
    return lambda: checked(driver.cuMemcpyDtoDAsync(target, source, size_bytes, DEFAULT_STREAM))


class Clock:
    """The card's own time between two points of the stream."""

    def __init__(self) -> None:
        self._begin = checked(driver.cuEventCreate(0))
        self._end = checked(driver.cuEventCreate(0))

    def seconds(self, call: Call, calls: int) -> float:
        call()  # so that the card has work while the host queues the rest
        checked(driver.cuEventRecord(self._begin, DEFAULT_STREAM))
        for _ in range(calls):
            call()
        checked(driver.cuEventRecord(self._end, DEFAULT_STREAM))
        checked(driver.cuEventSynchronize(self._end))
        spent_ms: float = checked(driver.cuEventElapsedTime(self._begin, self._end))
        return spent_ms / 1e3 / calls


def in_turn(base: Call, other: Call, *, round_s: float, rounds: int) -> Pair:
    """By the card's clock, as measure.alternate does by the host's."""
    clock = Clock()
    calls = max(1, min(500, round(round_s / clock.seconds(base, 1))))
    pair = Pair([], [])
    sides = [(pair.base, base), (pair.other, other)]
    for turn in range(rounds + 1):
        for times, call in sides if turn % 2 else reversed(sides):
            seconds = clock.seconds(call, calls)
            if turn:
                times.append(seconds)
    return pair
