"""Kernels on an NVIDIA GPU: CUDA text, by NVRTC, by the driver. docs/metal.md tells how.

A source is checked by the CPU's compiler, so that its errors are the same on both engines. What
only NVRTC objects to is told in the shader's lines, too.
"""

from __future__ import annotations

import ctypes
import functools
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openmps import settings
from openmps.build.key import build_key
from openmps.build.shader_compiler import refused_by_machine
from openmps.build.store import Store
from openmps.emit.cuda import emit_cuda_kernel, may_be_inline
from openmps.errors import ShaderError
from openmps.msl.compiler_messages import explain
from openmps.msl.kernels import Kernel, Parameter
from openmps.msl.library import Library
from openmps.msl.nvrtc_messages import as_compiler_messages, shared_bytes
from openmps.targets import nvrtc
from openmps.targets.cpu import CpuTarget
from openmps.targets.cubin import constant
from openmps.targets.cuda_driver import (
    Driver,
    KernelRecord,
    Launcher,
    driver,
    launcher,
    raise_failure,
)

PACKAGE = Path(__file__).parents[1]
CUBIN = "kernel.cubin"
MAX_THREADS = 1024
THREADGROUP_BYTES = 32 << 10  # a Mac's

# Metal's rules where CUDA's defaults differ; emit/cuda.py needs the second and the third.
DIALECT = (
    "--std=c++17", "--device-as-default-execution-space", "--device-int128", "--disable-warnings",
)  # fmt: skip
FAST_MATH = ("--use_fast_math",)


@dataclass(frozen=True)
class BuiltKernel:
    """A kernel's code, and what is known of it without a GPU."""

    image: bytes
    max_threads: int
    threadgroup_bytes: int


class CudaTarget:
    """architecture: such as "sm_90", to build for; the GPU's if left out. Kernels run on a GPU of
    that architecture only. exact: see CudaBuilder."""

    def __init__(self, architecture: str = "", *, exact: bool = False) -> None:
        self._architecture = architecture
        self._exact = exact

    @property
    def architecture(self) -> str:
        return self._architecture or driver().architecture

    def open(self, library: Library) -> None:
        """Checks the whole source, as the CPU's target does. Raises ShaderSyntaxError."""
        CpuTarget().open(library)

    def emitted(self, library: Library, name: str) -> dict[str, str]:
        """What is generated for a kernel, by kind of text."""
        text = emit_cuda_kernel(library, library.kernels[name], contract=not self._exact)
        return {"CUDA": text}

    def build(self, library: Library, name: str) -> BuiltKernel:
        """The kernel's code, without a GPU if the architecture was given."""
        builder = CudaBuilder(library, self.architecture, exact=self._exact)
        return read_built(builder.find_or_build(library.kernels[name]))

    def kernel(self, library: Library, name: str) -> CudaKernel:
        gpu = driver()
        return CudaKernel(library.kernels[name], self.build(library, name), gpu, launcher())


class CudaKernel:
    """A kernel that the GPU has loaded."""

    def __init__(
        self, kernel: Kernel, built: BuiltKernel, driver: Driver, launcher: Launcher
    ) -> None:
        self.name = kernel.name
        self._driver = driver
        self._launcher = launcher
        self._launch = launcher.launch
        loaded = driver.load(built.image, kernel.name)
        self.max_threads = min(built.max_threads, loaded.max_threads)
        self.static_threadgroup_bytes = built.threadgroup_bytes
        record = KernelRecord(
            ctypes.addressof(driver.table),
            loaded.handle,
            kernel.name.encode(),
            inline_buffers(kernel),
            declared_buffers(kernel),
        )
        _records.append(record)
        self.header = struct.pack("=Q16x", ctypes.addressof(record))

    def launch(self, dispatch: int) -> None:
        code = self._launch(dispatch)
        if code:
            grid_and_group = struct.unpack("6I", ctypes.string_at(dispatch + 24, 24))
            sizes = f"grid {grid_and_group[:3]}, threadgroup {grid_and_group[3:]}"
            raise_failure(code, self._driver, self.name, self._launcher.last_kernel(), sizes)


_records: list[KernelRecord] = []  # for good, as the code is: the last kernel's name is kept


def inline_buffers(kernel: Kernel) -> int:
    """Bit n: a value for buffer n travels with the launch, because it is in `constant` memory."""
    return _bits(kernel, may_be_inline)


def declared_buffers(kernel: Kernel) -> int:
    return _bits(kernel, lambda parameter: True)


def _bits(kernel: Kernel, is_meant: Callable[[Parameter], bool]) -> int:
    buffers = [parameter for parameter in kernel.parameters if parameter.kind == "buffer"]
    return sum(1 << index for index in {p.index for p in buffers if is_meant(p)})


class CudaBuilder:
    """One library's kernels, from text to cubins in the cache. Needs no GPU.

    exact: the bits that the CPU computes, without products fused with sums.
    """

    def __init__(self, library: Library, architecture: str, *, exact: bool = False) -> None:
        self.library = library
        self.architecture = architecture
        self._store = Store(settings.cache_dir(), "shaders")
        self._contract = not exact
        fast = FAST_MATH if library.options.fast_math else ()
        self._flags = (*DIALECT, *fast, f"--fmad={'false' if exact else 'true'}")

    def find_or_build(self, kernel: Kernel) -> Path:
        text = emit_cuda_kernel(self.library, kernel, contract=self._contract)
        key = build_key(
            {"kernel.cu": text.encode(), **_own_sources()},
            ("cuda", self.architecture, nvrtc.version(), *self._flags),
        )
        found = self._store.find(key, CUBIN)
        if found:
            return found
        with self._store.lock(key, lambda: None):
            found = self._store.find(key, CUBIN)
            if found:
                return found
            with self._store.workspace(key) as folder:
                cubin = self._compile(kernel, text)
                (folder / CUBIN).write_bytes(cubin.image)
                facts = {
                    "kernel": kernel.name,
                    "how": f"cuda {self.architecture}",
                    "threadgroup_bytes": cubin.threadgroup_bytes,
                }
                return self._store.publish(key, CUBIN, folder / CUBIN, facts)

    def _compile(self, kernel: Kernel, text: str) -> nvrtc.Cubin:
        include = f"--include-path={PACKAGE / 'include'}"
        try:
            return nvrtc.compile_cubin(text, self.architecture, (*self._flags, include))
        except nvrtc.NvrtcRefused as refused:
            too_much = shared_bytes(refused.messages)
            if too_much is not None:
                raise ShaderError(
                    "Failed to created pipeline state object, error: Threadgroup memory size "
                    f"({too_much}) exceeds the maximum threadgroup memory allowed "
                    f"({THREADGROUP_BYTES})"
                ) from None
            CpuTarget().check(self.library, kernel.name)  # says the same on both engines
            messages = as_compiler_messages(refused.messages)
            explained = explain(self.library, messages, kernel)
            if explained is not None:
                raise explained from None
            raise refused_by_machine(
                "NVRTC refused what openmps made of this shader", refused.messages
            ) from None


def read_built(cubin: Path) -> BuiltKernel:
    image = cubin.read_bytes()
    facts = json.loads((cubin.parent / "entry.json").read_bytes())
    most = constant(image, "openmps_max_threads")
    static = -(-facts["threadgroup_bytes"] // 16) * 16  # Metal counts in such steps
    return BuiltKernel(image, min(most or MAX_THREADS, MAX_THREADS), static)


@functools.lru_cache
def _own_sources() -> dict[str, bytes]:
    """What openmps adds to every kernel: its headers, and the code that generates and builds."""
    headers = (PACKAGE / "include").rglob("*.h")
    emitters = (PACKAGE / "emit").glob("*.py")
    files = [*headers, *emitters, Path(__file__), Path(nvrtc.__file__)]
    return {str(file.relative_to(PACKAGE)): file.read_bytes() for file in sorted(files)}
