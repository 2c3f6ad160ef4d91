"""NVIDIA's driver: load a cubin, queue a launch. No torch. Nothing else of openmps opens libcuda:
the C++ core and csrc_cuda call it through `Driver.table`.

A launch is one call of csrc_cuda, which calls the driver. Kernels run in the context that torch
uses (a GPU's primary one), are queued on its stream, and are never unloaded.
"""

from __future__ import annotations

import ctypes
import functools
import platform
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from openmps import layouts, settings
from openmps.build.artifact import find_or_build
from openmps.build.compiler import Job
from openmps.build.key import build_key
from openmps.build.loading import load_built
from openmps.build.store import user_store
from openmps.errors import DispatchError, KernelFault, ShaderError
from openmps.layouts import CudaDriver, CudaKernel, CudaLaunch

_PACKAGE = Path(__file__).parents[1]
_SOURCES = _PACKAGE / "csrc_cuda"
# What the sources include from other folders.
_CONTRACTS = (
    "csrc_runtime/api.h",
    "csrc_runtime/layout.h",
    "include/msl/launch/counts.h",
    "include/msl/launch/launch.h",
    "include/msl/launch/cuda_launch.h",
)
_LIBRARY = "openmps_cuda.so"
_FLAGS = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti")

_ENTRY = b"openmps_cuda"
_TOO_MANY_GROUPS, _NOT_BUILT = -1, -16  # CudaFailure of csrc_cuda/launch.h
# Of CUresult: after these, every call of this process fails.
_LOST = {
    700: "touched memory it must not (an address outside every tensor)",
    702: "ran longer than the driver allows",
    710: "failed an assertion",
    714: "broke the GPU's stack",
    715: "ran into an instruction that the GPU refuses",
    716: "touched memory at an address that is no multiple of the value's size",
    717: "used an address of another kind of memory",
    718: "jumped to an address outside its code",
    719: "was stopped by the GPU: a memory access, or something worse",
}
_OUT_OF_MEMORY, _OUT_OF_RESOURCES = 2, 701
_MAX_THREADS, _MAJOR, _MINOR = 0, 75, 76  # CUfunction_attribute; CUdevice_attribute twice


@dataclass(frozen=True)
class Function:
    handle: int  # CUfunction
    max_threads: int


class Driver:
    """libcuda of this process, in the first GPU's context. Any thread may use it at any time."""

    def __init__(self, library: Any = None) -> None:
        self._cuda = library or _load_libcuda()
        self._check(self._cuda.cuInit(0), "starting the driver")
        device = ctypes.c_int()
        self._check(self._cuda.cuDeviceGet(ctypes.byref(device), 0), "finding the first GPU")
        self._device = device
        self._context = ctypes.c_void_p()
        self._check(
            self._cuda.cuDevicePrimaryCtxRetain(ctypes.byref(self._context), device),
            "opening the GPU",
        )
        major, minor = (self._device_attribute(which) for which in (_MAJOR, _MINOR))
        self.architecture = f"sm_{major}{minor}"
        self.table = CudaDriver(
            *(
                ctypes.cast(getattr(self._cuda, name), ctypes.c_void_p)
                for name in (
                    "cuCtxGetCurrent", "cuCtxSetCurrent", "cuLaunchKernel", "cuMemAllocAsync",
                    "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoDAsync_v2", "cuMemFreeAsync",
                    "cuGetErrorString",
                )
            ),
            self._context,
        )  # fmt: skip

    def load(self, image: bytes, name: str) -> Function:
        """Loads a cubin for good. `name` is the kernel's, for errors."""
        self._enter()
        module, function, most = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_int()
        what = f"loading kernel '{name}'"
        self._check(self._cuda.cuModuleLoadData(ctypes.byref(module), image), what)
        self._check(self._cuda.cuModuleGetFunction(ctypes.byref(function), module, _ENTRY), what)
        self._check(self._cuda.cuFuncGetAttribute(ctypes.byref(most), _MAX_THREADS, function), what)
        assert function.value is not None
        return Function(function.value, most.value)

    def describe(self, code: int) -> str:
        """Such as "CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access was encountered"."""
        texts = []
        for ask in (self._cuda.cuGetErrorName, self._cuda.cuGetErrorString):
            text = ctypes.c_char_p()
            if ask(code, ctypes.byref(text)) == 0 and text.value:
                texts.append(text.value.decode(errors="replace"))
        return ": ".join(texts) or f"CUDA error {code}"

    def _enter(self) -> None:
        current = ctypes.c_void_p()
        self._check(self._cuda.cuCtxGetCurrent(ctypes.byref(current)), "using the GPU")
        if current.value != self._context.value:
            self._check(self._cuda.cuCtxSetCurrent(self._context), "using the GPU")

    def _device_attribute(self, which: int) -> int:
        value = ctypes.c_int()
        status = self._cuda.cuDeviceGetAttribute(ctypes.byref(value), which, self._device)
        self._check(status, "asking for the GPU's architecture")
        return value.value

    def _check(self, code: int, what: str) -> None:
        if code in _LOST:
            raise _lost(f"{what} failed", code, self.describe(code), None)
        if code:
            raise ShaderError(
                f"{what} failed",
                found=self.describe(code),
                next_step="check the driver with nvidia-smi, or set OPENMPS_ENGINE=cpu",
            )


class Launcher:
    """csrc_cuda, loaded."""

    def __init__(self, library: Path) -> None:
        self._library = ctypes.CDLL(str(library))
        layouts.check(self._library, "openmps_cuda_layout", (CudaLaunch, CudaDriver, CudaKernel))
        self.launch: Callable[[int], int] = self._library.openmps_cuda_launch
        self._library.openmps_cuda_launch.argtypes = (ctypes.c_void_p,)
        self._library.openmps_cuda_launch.restype = ctypes.c_int
        self._last_kernel = self._library.openmps_cuda_last_kernel
        self._last_kernel.argtypes = ()
        self._last_kernel.restype = ctypes.c_char_p

    def last_kernel(self) -> str | None:
        """The kernel that was queued last in this process, by any thread."""
        name = self._last_kernel()
        return name.decode() if name else None


_lock = threading.Lock()


@functools.cache
def _driver() -> Driver:
    return Driver()


def driver() -> Driver:
    """The driver of this process. Raises ShaderError if there is none, or no GPU."""
    with _lock:
        return _driver()


def table_address() -> int:
    """The address of the driver's CudaDriver (csrc_cuda/driver.h), which stays for good."""
    return ctypes.addressof(driver().table)


def version(library: Any = None) -> tuple[int, int] | None:
    """The newest CUDA that the driver knows; None without a driver. Does not start it, so that a
    process may fork afterwards."""
    try:
        cuda = library or _open_libcuda()
    except OSError:
        return None
    number = ctypes.c_int()
    if cuda.cuDriverGetVersion(ctypes.byref(number)) != 0:
        return None
    return number.value // 1000, number.value % 1000 // 10


@functools.cache
def _launcher() -> Launcher:
    return load_built(build, Launcher)


def launcher() -> Launcher:
    """csrc_cuda, built now if it never was on this machine."""
    with _lock:
        return _launcher()


def build(*, prebuilt: bool = True) -> Path:
    extra = settings.CXXFLAGS.read().split()
    sources = {file.name: file.read_bytes() for file in _SOURCES.iterdir() if file.is_file()}
    sources |= {name: (_PACKAGE / name).read_bytes() for name in _CONTRACTS}
    return find_or_build(
        user_store("runtime"),
        build_key(sources, (platform.machine(), "cuda", *_FLAGS, *extra)),
        _LIBRARY,
        "what launches Metal kernels on an NVIDIA GPU",
        lambda: job(extra),
        prebuilt=prebuilt,
    )


def job(extra: list[str]) -> Job:
    return Job(
        units=[sorted(_SOURCES.glob("*.cpp"))],
        compile_flags=[*_FLAGS, *extra],
        link_flags=[*extra],
    )


def missing_alignment(code: int) -> int:
    """The alignment of buffers that a kernel must be built for before it can run; 0 if none."""
    return 1 << (code - _NOT_BUILT) if _NOT_BUILT <= code < _NOT_BUILT + 5 else 0


def raise_failure(
    code: int, driver: Driver, kernel: str, before: str | None, sizes: str
) -> NoReturn:
    """Why a launch of `kernel` was refused. `before`: the kernel that was queued before it."""
    if code == _TOO_MANY_GROUPS:
        raise DispatchError(
            f"kernel '{kernel}' was asked to run in more threadgroups than an NVIDIA GPU takes",
            found=f"{sizes}; at most 2147483647 threadgroups",
            next_step="use larger threadgroups, or launch twice",
        )
    said = driver.describe(code)
    if code in _LOST:
        raise _lost(f"kernel '{kernel}' could not be started", code, said, before)
    if code == _OUT_OF_RESOURCES:
        raise KernelFault(
            f"kernel '{kernel}' needs more registers or memory than the GPU has for a threadgroup",
            found=f"{said}; {sizes}",
            next_step="use a smaller group_size, or less threadgroup memory",
        )
    if code == _OUT_OF_MEMORY:
        raise KernelFault(
            f"no GPU memory to start kernel '{kernel}'",
            found=f"{said}; {sizes}",
            next_step="free tensors, or end other programs on the GPU (nvidia-smi lists them)",
        )
    raise KernelFault(
        f"the driver refused to start kernel '{kernel}'",
        found=f"{said}; {sizes}",
        next_step="report this with the shader; OPENMPS_ENGINE=cpu runs it meanwhile",
    )


def _lost(problem: str, code: int, said: str, before: str | None) -> KernelFault:
    last = f"; the last Metal kernel started was '{before}'" if before else ""
    return KernelFault(
        f"{problem}: work that was queued before it {_LOST[code]}, and this process's GPU state is "
        "lost",
        found=f"{said}{last}",
        next_step="start the program again; check that kernel's indices against the sizes of its "
        "buffers (OPENMPS_ENGINE=cpu names the place)",
    )


def _open_libcuda() -> ctypes.CDLL:
    return ctypes.CDLL("libcuda.so.1")


def _load_libcuda() -> Any:
    try:
        library = _open_libcuda()
    except OSError as error:
        raise ShaderError(
            "this machine has no NVIDIA driver",
            found=str(error),
            next_step="install it and check with nvidia-smi, or set OPENMPS_ENGINE=cpu",
        ) from None
    pointer, number, count = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
    for name, types in {
        "cuInit": (count,),
        "cuDeviceGet": (pointer, number),
        "cuDevicePrimaryCtxRetain": (pointer, number),
        "cuDeviceGetAttribute": (pointer, number, number),
        "cuCtxGetCurrent": (pointer,),
        "cuCtxSetCurrent": (pointer,),
        "cuModuleLoadData": (pointer, ctypes.c_char_p),
        "cuModuleGetFunction": (pointer, pointer, ctypes.c_char_p),
        "cuFuncGetAttribute": (pointer, number, pointer),
        "cuGetErrorName": (number, pointer),
        "cuGetErrorString": (number, pointer),
    }.items():
        function = getattr(library, name)
        function.argtypes = types
        function.restype = number
    return library
