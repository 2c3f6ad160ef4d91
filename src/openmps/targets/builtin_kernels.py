"""Kernels that openmps ships and the device launches by itself. Found built by their text alone.

A program's shader is read before its kernels are looked up. These kernels almost every program
needs, so a process that finds them built reads no Metal and imports no part of the compiler; and
the compiler is not in the key: a machine with a warm cache needs none.
"""

from __future__ import annotations

import ctypes
import functools
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openmps import settings
from openmps.build.key import build_key
from openmps.build.loading import does_not_load
from openmps.build.processor import chosen_processor
from openmps.build.shader_compiler import find_shader_compiler
from openmps.build.store import user_store

if TYPE_CHECKING:
    from openmps.msl.kernels import Kernel
    from openmps.msl.library import Library
    from openmps.msl.source import SourceFile

_PACKAGE = Path(__file__).parents[1]
_COMPILER = (
    "include/msl/**/*.h", "layouts.py", "msl/*.py", "emit/**/*.py", "targets/*.py", "build/*.py",
)  # fmt: skip
_BUILT = "kernel.so"
_CUBIN = "kernel.cubin"


class BuiltinKernels:
    """The kernels of one file. `headers`: where the headers lie that it includes, by name.

    Their threads must not coordinate: on the CPU each is a loop that the caller runs where it wants
    to. On a GPU they compute the CPU's bits.
    """

    def __init__(self, source: Path, headers: Mapping[str, Path]) -> None:
        self._source = source
        self._headers = headers
        self._store = user_store("builtin")

    def entry(self, name: str) -> int | None:
        """The address of a kernel's PlainEntry (include/msl/launch/launch.h), built now if it never
        was. None if the file has no such kernel.
        """
        key = build_key(self._texts, (name, chosen_processor().identity, self._chosen_compiler))
        path = self._store.find(key, _BUILT) or self._build(key, _BUILT, name, self._for_cpu)
        if path is None:
            return None
        ctypes.CDLL("libm.so.6", ctypes.RTLD_GLOBAL)  # kernels are linked against nothing
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise does_not_load(error) from error
        return ctypes.cast(library.openmps_plain, ctypes.c_void_p).value

    def function(self, name: str) -> int | None:
        """The CUfunction of a kernel, which takes a CudaLaunch (include/msl/launch/cuda_launch.h),
        built now if it never was for this GPU. None if the file has no such kernel.
        """
        from openmps.targets.cuda_driver import driver

        gpu = driver()
        path = self.cubin(name, gpu.architecture)
        return gpu.load(path.read_bytes(), name).handle if path else None

    def cubin(self, name: str, architecture: str) -> Path | None:
        """A kernel's code for such GPUs; needs none."""
        key = build_key(self._texts, (name, "cuda", architecture))
        return self._store.find(key, _CUBIN) or self._build(
            key, _CUBIN, name, lambda kernel: self._for_gpu(kernel, architecture)
        )

    @property
    def _chosen_compiler(self) -> str:
        return settings.SHADER_CXX.read()

    @functools.cached_property
    def _texts(self) -> dict[str, bytes]:
        """Everything that a kernel's code follows from."""
        texts = {self._source.name: self._source.read_bytes()}
        texts.update((name, path.read_bytes()) for name, path in self._headers.items())
        for pattern in _COMPILER:
            for file in _PACKAGE.glob(pattern):
                texts[str(file.relative_to(_PACKAGE))] = file.read_bytes()
        return texts

    def _build(
        self, key: str, file: str, name: str, build: Callable[[Kernel], Path]
    ) -> Path | None:
        kernel = self._library.kernels.get(name)
        if kernel is None:
            return None
        assert kernel.looks_at_grid_only, f"{name} coordinates"
        built = build(kernel)
        with self._store.lock(key, lambda: None):
            # Another process may have been faster, and may be loading what it has put there.
            if (found := self._store.find(key, file)) is not None:
                return found
            with self._store.workspace(key) as folder:
                shutil.copy(built, folder / file)
                return self._store.publish(key, file, folder / file, {"kernel": name})

    def _for_cpu(self, kernel: Kernel) -> Path:
        # Any thread calls it, without the runtime.
        from openmps.targets.cpu_builder import FIRST_AXIS, Builder, CpuOptions

        builder = Builder(self._library, find_shader_compiler(), CpuOptions(safe_stack=False))
        return builder.find_or_build(kernel, FIRST_AXIS)

    def _for_gpu(self, kernel: Kernel, architecture: str) -> Path:
        from openmps.targets.cuda import CudaBuilder

        return CudaBuilder(self._library, architecture, exact=True).find_or_build(kernel)

    @functools.cached_property
    def _library(self) -> Library:
        from openmps.msl.library import LanguageOptions, parse_library
        from openmps.msl.source import SourceFile

        def find_header(name: str, _asking: SourceFile) -> SourceFile | None:
            path = self._headers.get(name)
            return SourceFile(name, path.read_text()) if path else None

        return parse_library(
            self._source.read_text(),
            name=self._source.name,
            options=LanguageOptions(find_header=find_header),
        )
