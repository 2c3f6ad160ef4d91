"""Kernels on an NVIDIA GPU: CUDA text, by NVRTC to PTX, by nvJitLink to code, by the driver to
the GPU. docs/metal.md tells how.

A source is checked by the CPU's compiler, so that its errors are the same on both engines. What
only NVRTC objects to is told in the shader's lines, too.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from openmps import layouts
from openmps.build.key import build_key
from openmps.build.shader_compiler import refused_by_machine
from openmps.build.store import user_store
from openmps.emit.cuda import emit_cuda_kernel, may_be_inline
from openmps.emit.ptx.alignment import UnsupportedPTX
from openmps.emit.ptx.make_defined import make_ptx_defined
from openmps.errors import CompileError, ShaderError
from openmps.msl.compiler_messages import explain
from openmps.msl.kernels import Kernel, Parameter
from openmps.msl.library import Library
from openmps.msl.nvrtc_messages import as_compiler_messages, shared_bytes
from openmps.targets import nvjitlink, nvrtc
from openmps.targets.base import HEADER_BYTES, PlainMemory, sizes_of
from openmps.targets.cpu import CpuTarget
from openmps.targets.cuda_driver import (
    Driver,
    Launcher,
    driver,
    launcher,
    missing_alignment,
    raise_failure,
)
from openmps.targets.tested_compilers import NVRTC, look_at_ptx

PACKAGE = Path(__file__).parents[1]
PTX, CUBIN = "kernel.ptx", "kernel.cubin"
MAX_THREADS = 1024
THREADGROUP_BYTES = 32 << 10  # a Mac's
REGISTERS = 65536  # of a multiprocessor, on every GPU since 2012
MOST_ALIGNMENT = 16  # of buffers: what torch's allocations have, and most views of them

# Metal's rules where CUDA's defaults differ; emit/cuda.py needs the second and the third.
DIALECT = (
    "--std=c++17", "--device-as-default-execution-space", "--device-int128", "--disable-warnings",
)  # fmt: skip
FAST_MATH = ("--use_fast_math",)
UNMARKED = "--define-macro=OPENMPS_UNMARKED"  # include/msl/types/wrapping.h
_MAX_THREADS = re.compile(r"^\.maxntid\s+(\d+).*$", re.M)


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
        kernel = library.kernels[name]
        builder = self._builder(library)
        ptx = builder.find_or_compile(kernel).read_text()
        return {"CUDA": builder.emitted(kernel), "PTX": _defined(ptx, MOST_ALIGNMENT)}

    def build(self, library: Library, name: str, alignment: int = MOST_ALIGNMENT) -> BuiltKernel:
        """The kernel's code, without a GPU if the architecture was given."""
        return read_built(self._builder(library).find_or_build(library.kernels[name], alignment))

    def value_memory(self, size_bytes: int) -> PlainMemory:
        return PlainMemory(size_bytes)

    def kernel(self, library: Library, name: str) -> CudaKernel:
        build = functools.partial(self.build, library, name)
        return CudaKernel(library.kernels[name], build, driver(), launcher())

    def _builder(self, library: Library) -> CudaBuilder:
        return CudaBuilder(library, self.architecture, exact=self._exact)


class CudaKernel:
    """A kernel that the GPU has loaded; again for buffers that are aligned to less than usual.

    `build` gives the code for an alignment of buffers.
    """

    def __init__(
        self,
        kernel: Kernel,
        build: Callable[[int], BuiltKernel],
        driver: Driver,
        launcher: Launcher,
    ) -> None:
        self.name = kernel.name
        self._build = build
        self._driver = driver
        self._launcher = launcher
        self._launch = launcher.launch
        self._lock = threading.Lock()
        built = build(MOST_ALIGNMENT)
        loaded = driver.load(built.image, kernel.name)
        self.max_threads = min(built.max_threads, loaded.max_threads)
        self.static_threadgroup_bytes = built.threadgroup_bytes
        self._record = layouts.CudaKernel(
            ctypes.addressof(driver.table),
            kernel.name.encode(),
            inline_buffers(kernel),
            declared_buffers(kernel),
        )
        self._record.functions[MOST_ALIGNMENT.bit_length() - 1] = loaded.handle
        _records.append(self._record)
        self.header = bytes(layouts.Dispatch(ctypes.addressof(self._record)))[:HEADER_BYTES]

    def launch(self, dispatch: int) -> None:
        code = self._launch(dispatch)
        if code:
            self._launch_again(code, dispatch)

    def _launch_again(self, code: int, dispatch: int) -> None:
        alignment = missing_alignment(code)
        if alignment:
            self._load_for(alignment)
            code = self._launch(dispatch)
        if code:
            grid, group = sizes_of(dispatch)
            sizes = f"grid {grid}, threadgroup {group}"
            raise_failure(code, self._driver, self.name, self._launcher.last_kernel(), sizes)

    def _load_for(self, alignment: int) -> None:
        place = alignment.bit_length() - 1
        with self._lock:
            if not self._record.functions[place]:
                image = self._build(alignment).image
                self._record.functions[place] = self._driver.load(image, self.name).handle


_records: list[layouts.CudaKernel] = []  # for good, as the code is: the last kernel's name is kept


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
        self._store = user_store("shaders")
        self._contract = not exact
        fast = FAST_MATH if library.options.fast_math else ()
        self._flags = (*DIALECT, *fast, f"--fmad={'false' if exact else 'true'}")

    def emitted(self, kernel: Kernel) -> str:
        return emit_cuda_kernel(self.library, kernel, contract=self._contract)

    def find_or_compile(self, kernel: Kernel) -> Path:
        """The kernel's PTX, as NVRTC gives it."""

        def compile_ptx(file: Path) -> dict[str, object]:
            file.write_text(self._compile(kernel, self.emitted(kernel)))
            return {}

        return self._find_or_make(kernel, PTX, "", compile_ptx)

    def find_or_build(self, kernel: Kernel, alignment: int = MOST_ALIGNMENT) -> Path:
        """The kernel's code, for buffers that are aligned to `alignment` bytes."""

        def build(file: Path) -> dict[str, object]:
            ptx = _defined(self.find_or_compile(kernel).read_text(), alignment)
            cubin = self._assemble(ptx)
            file.write_bytes(cubin.image)
            return {"max_threads": _max_threads(ptx), "threadgroup_bytes": cubin.threadgroup_bytes}

        return self._find_or_make(kernel, CUBIN, str(alignment), build)

    def _find_or_make(
        self, kernel: Kernel, name: str, how: str, make: Callable[[Path], dict[str, object]]
    ) -> Path:
        key = build_key(
            {"kernel.cu": self.emitted(kernel).encode(), **_own_sources()},
            ("cuda", name, how, self.architecture, nvrtc.identity(), *self._flags),
        )
        found = self._store.find(key, name)
        if found:
            return found
        with self._store.lock(key, lambda: None):
            found = self._store.find(key, name)
            if found:
                return found
            with self._store.workspace(key) as folder:
                facts = make(folder / name)
                facts |= {"kernel": kernel.name, "how": f"cuda {self.architecture} {how}".strip()}
                return self._store.publish(key, name, folder / name, facts)

    def _compile(self, kernel: Kernel, text: str) -> str:
        flags = (*self._flags, f"--include-path={PACKAGE / 'include'}")
        try:
            ptx = self._compile_marked(text, flags)
        except nvrtc.NvidiaRefused as refused:
            CpuTarget().check(self.library, kernel.name)  # says the same on both engines
            messages = as_compiler_messages(refused.messages)
            explained = explain(self.library, messages, kernel)
            if explained is not None:
                raise explained from None
            raise refused_by_machine(
                "NVRTC refused what openmps made of this shader", refused.messages
            ) from None
        look_at_ptx(ptx)
        return ptx

    def _compile_marked(self, text: str, flags: tuple[str, ...]) -> str:
        with contextlib.suppress(nvrtc.NvidiaRefused):
            return nvrtc.compile_ptx(text, self.architecture, flags)
        # Sums are marked without knowing types: what was misread compiles without marks.
        return nvrtc.compile_ptx(text, self.architecture, (*flags, UNMARKED))

    def _assemble(self, ptx: str) -> nvjitlink.Cubin:
        try:
            cubin = self._assemble_dense(ptx)
        except nvrtc.NvidiaRefused as refused:
            too_much = shared_bytes(refused.messages)  # from 48 KiB on; older releases say nothing
            if too_much is not None:
                raise _pipeline_failure(too_much) from None
            raise refused_by_machine(
                "nvJitLink refused code that openmps generated for this shader", refused.messages
            ) from None
        if cubin.threadgroup_bytes > THREADGROUP_BYTES:
            raise _pipeline_failure(cubin.threadgroup_bytes)
        return cubin

    def _assemble_dense(self, ptx: str) -> nvjitlink.Cubin:
        """Two of the largest threadgroups at a time hide each other's waits, if they fit."""
        cubin = nvjitlink.assemble(ptx, self.architecture)
        if cubin.registers * 2 * _max_threads(ptx) <= REGISTERS:
            return cubin
        # A directive, because an option would not count beside the kernel's own limit of threads.
        asking = _MAX_THREADS.sub(r"\g<0>\n.minnctapersm 2", ptx, count=1)
        dense = nvjitlink.assemble(asking, self.architecture)
        return cubin if dense.spills else dense


def _defined(ptx: str, alignment: int) -> str:
    try:
        return make_ptx_defined(ptx, alignment)
    except UnsupportedPTX as error:
        raise _not_understood(str(error)) from None


def _not_understood(found: str) -> CompileError:
    return CompileError(
        "openmps does not understand what NVRTC made of this shader",
        found=f"{found} ({nvrtc.identity()})",
        next_step=f"use an NVRTC that openmps was tested with, pip install '{NVRTC}'; with that "
        "one, report this with the shader; OPENMPS_ENGINE=cpu compiles without it",
    )


def _pipeline_failure(threadgroup_bytes: int) -> ShaderError:
    """In a Mac's words."""
    return ShaderError(
        "Failed to created pipeline state object, error: Threadgroup memory size "
        f"({_in_steps(threadgroup_bytes)}) exceeds the maximum threadgroup memory allowed "
        f"({THREADGROUP_BYTES})"
    )


def _in_steps(threadgroup_bytes: int) -> int:
    """Metal counts in steps of 16."""
    return -(-threadgroup_bytes // 16) * 16


def read_built(cubin: Path) -> BuiltKernel:
    facts = json.loads((cubin.parent / "entry.json").read_bytes())
    static = _in_steps(facts["threadgroup_bytes"])
    return BuiltKernel(cubin.read_bytes(), facts["max_threads"], static)


def _max_threads(ptx: str) -> int:
    """What the kernel's __launch_bounds__ became."""
    found = _MAX_THREADS.search(ptx)
    if found is None:
        raise _not_understood("no .maxntid, which limits the threads of a threadgroup")
    return min(int(found[1]), MAX_THREADS)


@functools.lru_cache
def _own_sources() -> dict[str, bytes]:
    """What openmps adds to every kernel: its headers, and the code that generates and builds."""
    headers = (PACKAGE / "include").rglob("*.h")
    emitters = (PACKAGE / "emit").rglob("*.py")
    modules = (__file__, nvrtc.__file__, nvjitlink.__file__, layouts.__file__)
    own = [Path(file) for file in modules]
    files = sorted([*headers, *emitters, *own])
    return {str(file.relative_to(PACKAGE)): file.read_bytes() for file in files}
