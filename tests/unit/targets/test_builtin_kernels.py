"""Kernels that openmps ships: built once, found by their text alone."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest

from openmps.layouts import BUFFERS, Launch
from openmps.msl.kernels import Kernel
from openmps.targets import builtin_kernels
from openmps.targets.builtin_kernels import BuiltinKernels

SOURCE = """
#include <ours/step.h>
kernel void count(device float* out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  out[i] = float(i) * step();
}
"""


class Block(ctypes.Structure):
    _fields_ = (("begin", ctypes.c_uint * 3), ("end", ctypes.c_uint * 3))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENMPS_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "count.metal").write_text(SOURCE)
    (tmp_path / "step.h").write_text("inline float step() { return 2.0f; }")
    return tmp_path


def kernels(folder: Path) -> BuiltinKernels:
    return BuiltinKernels(folder / "count.metal", {"ours/step.h": folder / "step.h"})


def run(entry: int | None) -> list[float]:
    assert entry is not None
    out = (ctypes.c_float * 4)()
    buffers = (ctypes.c_void_p * BUFFERS)(ctypes.addressof(out))
    launch = Launch(ctypes.addressof(buffers))
    block = Block((1, 0, 0), (4, 1, 1))
    ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(entry)(
        ctypes.addressof(launch), ctypes.addressof(block)
    )
    return list(out)


def test_a_kernel_runs_over_a_block(folder: Path) -> None:
    assert run(kernels(folder).entry("count")) == [0, 2, 4, 6]


def test_who_comes_second_leaves_the_file_of_the_first(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who came first may be loading it at that moment."""
    first, second = kernels(folder), kernels(folder)
    build = second._for_cpu
    places = []

    def build_while_another_does(kernel: Kernel) -> Path:
        assert run(first.entry("count")) == [0, 2, 4, 6]
        places.extend(path.stat().st_ino for path in folder.glob("cache/builtin/*/kernel.so"))
        return build(kernel)

    monkeypatch.setattr(second, "_for_cpu", build_while_another_does)
    assert run(second.entry("count")) == [0, 2, 4, 6]
    assert len(places) == 1
    assert [path.stat().st_ino for path in folder.glob("cache/builtin/*/kernel.so")] == places


def test_an_unknown_kernel_is_none(folder: Path) -> None:
    assert kernels(folder).entry("cuont") is None


def test_a_built_kernel_needs_no_compiler(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kernels(folder).entry("count")
    monkeypatch.setattr(builtin_kernels, "find_shader_compiler", None)
    assert run(kernels(folder).entry("count")) == [0, 2, 4, 6]


def test_another_header_is_another_kernel(folder: Path) -> None:
    kernels(folder).entry("count")
    (folder / "step.h").write_text("inline float step() { return 3.0f; }")
    assert run(kernels(folder).entry("count")) == [0, 3, 6, 9]
