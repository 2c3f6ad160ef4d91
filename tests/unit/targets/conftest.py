"""Kernels written by hand for the tests of the CPU runtime: no shader compiler is involved."""

from __future__ import annotations

import ctypes
import struct
import subprocess
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import openmps
from openmps.build.compiler import find_compiler
from openmps.targets.base import DYNAMIC_OFFSET, dispatch_struct
from openmps.targets.cpu_runtime import Runtime, Style, runtime

HERE = Path(__file__).parent
SOURCE = HERE / "runtime_kernels.cpp"
PACKAGE = Path(openmps.__file__).parent

# What scripts that run in a process of their own begin with.
PRELUDE = """
import sys, os, signal, threading, time
# A suite that was started in the background ignores Ctrl-C, and so would this.
signal.signal(signal.SIGINT, signal.default_int_handler)
sys.path[:0] = {paths!r}
from conftest import Kernels, Style
BOXES, GROUPS, SIMDGROUPS, THREADS = Style
kernels = Kernels({library!r})
"""


class Kernels:
    def __init__(self, library: str | Path) -> None:
        self.path = str(library)
        self.runtime: Runtime = runtime()
        self._library = ctypes.CDLL(self.path)

    def entry(self, name: str) -> int:
        address = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        assert address
        return address

    def call(
        self,
        name: str,
        style: Style,
        grid: Sequence[int],
        group: Sequence[int],
        *buffers: np.ndarray | tuple[int, int],  # or address and bytes
        workers: int = 1,
        limit_s: float = 0.0,
        dynamic: Sequence[int] = (),
        stack_bytes: int = 0,
    ) -> None:
        extents = [
            each if isinstance(each, tuple) else (each.ctypes.data, each.nbytes) for each in buffers
        ]
        header = struct.pack("=QIIfI", self.entry(name), style, workers, limit_s, stack_bytes)
        addresses, sizes = zip(*extents, strict=True) if extents else ((), ())
        pack = dispatch_struct(len(extents)).pack
        block = bytearray(pack(header, *grid, *group, *addresses, *sizes, 0, 0, 0))
        block[DYNAMIC_OFFSET : DYNAMIC_OFFSET + 4 * len(dynamic)] = np.array(
            dynamic, np.uint32
        ).tobytes()
        memory = (ctypes.c_char * len(block)).from_buffer(block)
        self.runtime.launch(ctypes.addressof(memory), name)

    def check_all_styles(self) -> None:
        """Nothing of an abandoned launch is left behind."""
        for style in (Style.BOXES, Style.GROUPS):
            out = np.zeros((1, 1, 50_000), np.uint32)
            self.call("visit", style, (50_000, 1, 1), (64, 1, 1), out, workers=2)
            assert (out == 1).all()
        out = np.zeros((1, 64), np.uint32)
        self.call(
            "barriers", Style.SIMDGROUPS, (512, 1, 1), (512, 1, 1), out, np.array([3], np.uint32)
        )
        assert (out[:, 32:] == 0).all()
        out = np.zeros(64, np.float32)
        self.call("reverse", Style.THREADS, (64, 1, 1), (64, 1, 1), out)
        assert out[0] == 63


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kernels")
    out = folder / "kernels.so"
    flags = ["-std=c++17", "-O2", "-fPIC", "-shared", "-w"]
    if "clang" not in find_compiler().version():
        # Lanes meet again behind a branch only if code lies in the order of the source.
        flags += ["-fno-reorder-blocks", "-fno-reorder-blocks-and-partition"]
    command = [
        find_compiler().path,
        *flags,
        f"-I{PACKAGE / 'include'}",
        str(SOURCE),
        "-o",
        str(out),
    ]
    subprocess.run(command, check=True)
    return out


@pytest.fixture(scope="session")
def kernels(library: Path) -> Kernels:
    return Kernels(library)


@pytest.fixture
def script(library: Path, python):
    """Runs a script that can call kernels."""
    paths = [str(HERE), str(PACKAGE.parent)]

    def run(text: str, **more: object) -> subprocess.CompletedProcess[str]:
        prelude = PRELUDE.format(paths=paths, library=str(library))
        return python("-c", prelude + textwrap.dedent(text), timeout=60, **more)

    return run
