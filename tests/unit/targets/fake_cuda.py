"""NVIDIA's driver as far as csrc_cuda and targets/cuda_driver.py call it: runs nothing, remembers
what it was asked for, in order."""

from __future__ import annotations

import ctypes
import threading
from dataclasses import dataclass
from typing import Any

from openmps import layouts

CONTEXT = 0xC0
FUNCTION = 0xF0
INVALID_CONTEXT = 201
NAMES = {
    1: (b"CUDA_ERROR_INVALID_VALUE", b"invalid argument"),
    2: (b"CUDA_ERROR_OUT_OF_MEMORY", b"out of memory"),
    700: (b"CUDA_ERROR_ILLEGAL_ADDRESS", b"an illegal memory access was encountered"),
    701: (b"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", b"too many resources requested for launch"),
}


class CudaLaunch(layouts.CudaLaunch):
    def value(self, index: int, size: int) -> bytes:
        """What the kernel finds in a buffer that is inline."""
        assert self.buffers[index] == 0
        offset = self.inline_offset[index]
        assert offset, f"buffer {index} is not inline"
        return bytes(self.bytes)[offset - 1 : offset - 1 + size]


@dataclass(frozen=True)
class Launched:
    function: int
    blocks: tuple[int, ...]
    threads: tuple[int, ...]
    shared: int
    stream: int | None
    launch: CudaLaunch


class FakeCuda:
    """Each attribute cuXxx is a C function; `calls` names those that take part in launches."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.launches: list[Launched] = []
        self.copies: dict[int, bytes] = {}
        self.loaded: list[bytes] = []
        self.is_started = False
        self.version = 13020
        self.capability = {75: 9, 76: 0}
        self.max_threads = 1024
        self.answers: dict[str, int] = {}  # what the named functions fail with
        self.current = threading.local()
        self.contexts_set: list[int] = []
        self.next_address = 0x7000_0000
        pointer, number, size = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
        address = ctypes.c_uint64
        self._define("cuInit", self._start, number)
        self._define("cuDriverGetVersion", self._version, pointer)
        self._define("cuDeviceGet", self._device, pointer, ctypes.c_int)
        self._define("cuDevicePrimaryCtxRetain", self._retain, pointer, ctypes.c_int)
        self._define("cuDeviceGetAttribute", self._attribute, pointer, ctypes.c_int, ctypes.c_int)
        self._define("cuCtxGetCurrent", self._get_context, pointer)
        self._define("cuCtxSetCurrent", self._set_context, pointer)
        self._define("cuModuleLoadData", self._load, pointer, ctypes.c_char_p)
        self._define("cuModuleGetFunction", self._function, pointer, pointer, ctypes.c_char_p)
        self._define("cuFuncGetAttribute", self._most, pointer, ctypes.c_int, pointer)
        self._define("cuGetErrorName", self._name, ctypes.c_int, pointer)
        self._define("cuGetErrorString", self._text, ctypes.c_int, pointer)
        self._define("cuLaunchKernel", self._launch, pointer, *[number] * 7, *[pointer] * 3)
        self._define("cuMemAllocAsync", self._allocate, pointer, size, pointer)
        self._define("cuMemcpyHtoDAsync_v2", self._copy, address, pointer, size, pointer)
        self._define("cuMemcpyDtoDAsync_v2", self._copy_on_device, address, address, size, pointer)
        self._define("cuMemFreeAsync", self._free, address, pointer)

    def _define(self, name: str, function: Any, *types: Any) -> None:
        def call(*arguments: Any) -> int:
            return self.answers.get(name) or function(*arguments)

        setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int, *types)(call))

    @property
    def last(self) -> Launched:
        return self.launches[-1]

    # ---- what the functions do

    def _start(self, _: int) -> int:
        self.is_started = True
        return 0

    def _version(self, out: int) -> int:
        ctypes.c_int.from_address(out).value = self.version
        return 0

    def _device(self, out: int, index: int) -> int:
        ctypes.c_int.from_address(out).value = index
        return 0

    def _retain(self, out: int, _: int) -> int:
        ctypes.c_void_p.from_address(out).value = CONTEXT
        return 0

    def _attribute(self, out: int, which: int, _: int) -> int:
        ctypes.c_int.from_address(out).value = self.capability[which]
        return 0

    def _get_context(self, out: int) -> int:
        ctypes.c_void_p.from_address(out).value = getattr(self.current, "context", None)
        return 0

    def _set_context(self, context: int) -> int:
        self.current.context = context
        self.contexts_set.append(context)
        return 0

    def _load(self, out: int, image: bytes) -> int:
        self.loaded.append(image)
        ctypes.c_void_p.from_address(out).value = 0xD0
        return 0

    def _function(self, out: int, _: int, name: bytes) -> int:
        assert name == b"openmps_cuda"
        ctypes.c_void_p.from_address(out).value = FUNCTION + len(self.loaded)
        return 0

    def _most(self, out: int, which: int, _: int) -> int:
        assert which == 0
        ctypes.c_int.from_address(out).value = self.max_threads
        return 0

    def _say(self, code: int, out: int, which: int) -> int:
        if code not in NAMES:
            return 1
        ctypes.c_char_p.from_address(out).value = NAMES[code][which]
        return 0

    def _name(self, code: int, out: int) -> int:
        return self._say(code, out, 0)

    def _text(self, code: int, out: int) -> int:
        return self._say(code, out, 1)

    def _is_elsewhere(self) -> bool:
        return getattr(self.current, "context", None) != CONTEXT

    def _launch(self, function: int, *rest: Any) -> int:
        if self._is_elsewhere():
            return INVALID_CONTEXT
        assert rest[9] is None
        parameter = ctypes.c_void_p.from_address(rest[8]).value
        assert parameter
        assert parameter % 16 == 0
        launch = CudaLaunch.from_buffer_copy(ctypes.string_at(parameter, ctypes.sizeof(CudaLaunch)))
        self.calls.append("launch")
        self.launches.append(Launched(function, rest[0:3], rest[3:6], rest[6], rest[7], launch))
        return 0

    def _allocate(self, out: int, size: int, stream: int | None) -> int:
        if self._is_elsewhere():
            return INVALID_CONTEXT
        assert stream is None
        ctypes.c_uint64.from_address(out).value = self.next_address
        self.calls.append(f"allocate {size}")
        return 0

    def _copy(self, address: int, source: int, size: int, stream: int | None) -> int:
        assert stream is None
        assert address == self.next_address
        self.copies[address] = ctypes.string_at(source, size)
        self.calls.append(f"copy {size}")
        return 0

    def _copy_on_device(self, to: int, source: int, size: int, stream: int | None) -> int:
        assert stream is None
        self.calls.append(f"copy {size} from {source:#x} to {to:#x}")
        return 0

    def _free(self, address: int, stream: int | None) -> int:
        assert stream is None
        assert address == self.next_address
        self.calls.append("free")
        return 0
