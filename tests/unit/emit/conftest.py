"""Runs thread functions written in C++ through the pass and compares them with numpy."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from openmps.build.processor import Processor
from openmps.emit.lanes.vectorise import vectorise
from openmps.layouts import Launch, Threadgroup

INCLUDE = Path(__file__).parents[3] / "src" / "openmps" / "include"
NATIVE = Processor(platform.machine(), "native")
MACHINE = ["-target", f"{NATIVE.architecture}-unknown-linux-gnu", *NATIVE.flags, "-fPIC"]
TO_IR = [
    "-x",
    "c++",
    "-std=c++17",
    "-nostdinc",
    "-fno-vectorize",
    "-fno-slp-vectorize",
    "-fno-unroll-loops",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-finite-loops",
    "-ffp-contract=off",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-fno-math-errno",
    "-w",
    "-S",
    "-emit-llvm",
]
HEAD = """#include "msl/launch/launch.h"
#include "msl/threads/lanes.h"
using namespace openmps;
extern "C" void openmps_thread(const Launch* launch, const Threadgroup* tg, unsigned x, unsigned y,
                               unsigned z, unsigned lane, unsigned sg) {
  float* in = (float*)launch->buffers[0];
  float* out = (float*)launch->buffers[1];
  int* key = (int*)launch->buffers[2];
  int* io = (int*)launch->buffers[3];
"""
# One simdgroup after the other: what a barrier would order is written so that it does not matter.
BARRIERS = "void openmps_lanes_barrier(void) {} void openmps_lanes_yield(void) {}"
Shape = tuple[int, int, int]


@functools.cache
def zig() -> str:
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        pytest.skip("the pass reads the IR of clang, of the ziglang package: it is not installed")
    return str(Path(spec.origin).parent / "zig")


def run(arguments: list[str], text: str = "") -> str:
    done = subprocess.run(arguments, input=text, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def compile_ir(body: str, level: str = "-O2") -> str:
    command = [zig(), "clang", *MACHINE, *TO_IR, level, "-I", str(INCLUDE), "-", "-o", "-"]
    return run(command, HEAD + body + "}")


@pytest.fixture(scope="session")
def barriers(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An object file to link kernels with: loaded for all, it would hide the real runtime's."""
    made = tmp_path_factory.mktemp("barriers") / "b.o"
    hidden = "-fvisibility=hidden"
    run([zig(), "clang", *MACHINE, hidden, "-x", "c", "-c", "-", "-o", str(made)], BARRIERS)
    for name in ("libm.so.6", "libmvec.so.1"):
        ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
    return str(made)


@pytest.fixture
def to_ir() -> Callable[..., str]:
    return compile_ir


class Result:
    """The buffers before and after; `x` counts the threads of a one-dimensional group."""

    def __init__(self, before: list[np.ndarray], after: list[np.ndarray], threads: int) -> None:
        self.x = np.arange(threads)
        self.given = before[0]
        self.key = before[2]
        self.out = after[1]
        self.io = after[3]


@pytest.fixture(params=["-O2", "-O0"])
def launch(request: pytest.FixtureRequest, barriers: str, tmp_path: Path) -> Callable[..., Result]:
    def go(body: str, shape: Shape = (64, 1, 1), axis: str = "x") -> Result:
        # A library that is loaded must not be written again.
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        (folder / "k.ll").write_text(vectorise(compile_ir(body, request.param), axis=axis))
        flags = ["-O1", "-fveclib=libmvec", "-fno-math-errno", "-w"]
        object_, library = str(folder / "k.o"), str(folder / "k.so")
        run([zig(), "clang", *MACHINE, *flags, "-c", str(folder / "k.ll"), "-o", object_])
        run([zig(), "ld.lld", "-shared", object_, barriers, "-o", library])
        random = np.random.default_rng(7)
        before = [
            random.normal(size=2048).astype(np.float32),
            np.zeros(2048, np.float32),
            random.integers(0, 100, 2048).astype(np.int32),
            np.zeros(2048, np.int32),
        ]
        after = [array.copy() for array in before]
        enter(ctypes.CDLL(library), after, shape)
        return Result(before, after, shape[0] * shape[1] * shape[2])

    return go


def enter(library: ctypes.CDLL, buffers: list[np.ndarray], shape: Shape) -> None:
    addresses = (ctypes.c_void_p * 31)(*[b.ctypes.data for b in buffers])
    memory = np.zeros(4096, np.float64)
    threads = shape[0] * shape[1] * shape[2]
    launch = Launch(buffers=ctypes.addressof(addresses), grid=shape, group=shape, groups=(1, 1, 1))
    group = Threadgroup(
        shape=shape, threads=threads, simdgroups=(threads + 31) // 32, dynamic=memory.ctypes.data
    )
    for simdgroup in range(group.simdgroups):
        library.openmps_simdgroup(ctypes.byref(launch), ctypes.byref(group), simdgroup)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regenerate-golden", action="store_true", help="see test_golden.py")


@pytest.fixture
def zig_is_here() -> None:
    zig()
