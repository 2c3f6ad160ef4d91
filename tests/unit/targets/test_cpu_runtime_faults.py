"""Kernels that fault end their launch and nothing else."""

from __future__ import annotations

import ctypes
import faulthandler
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from openmps.errors import KernelFault
from openmps.targets.cpu_runtime import Style

if TYPE_CHECKING:
    from conftest import Kernels

BOXES, GROUPS, SIMDGROUPS, THREADS = Style


class Island:
    """Pages with nothing around them."""

    def __init__(self, pages: int = 1) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        libc.mmap.restype = ctypes.c_void_p
        libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
        around = 64
        self.bytes = pages * 4096
        start = libc.mmap(None, (pages + 2 * around) * 4096, 3, 0x22, -1, 0)
        self.address = start + around * 4096
        libc.munmap(start, around * 4096)
        libc.munmap(self.address + self.bytes, around * 4096)
        self._close = lambda: libc.munmap(self.address, self.bytes)

    def __enter__(self) -> tuple[int, int]:
        return self.address, self.bytes

    def __exit__(self, *_: object) -> None:
        self._close()


def is_mapped(address: int) -> bool:
    for line in Path("/proc/self/maps").read_text().splitlines():
        begin, end = (int(number, 16) for number in line.split()[0].split("-"))
        if begin <= address < end:
            return True
    return False


@pytest.mark.parametrize("offset", [4096, 4096 + 65_535, -1, -4096])
@pytest.mark.parametrize("name", ["read_at", "write_at"])
def test_a_near_miss_is_forgiven(kernels: Kernels, name: str, offset: int) -> None:
    with Island() as island:
        out = np.full(1, 9, np.uint32)
        position = np.array([offset])
        kernels.call(name, BOXES, (1, 1, 1), (1, 1, 1), island, out, position)
        assert out[0] == (0 if name == "read_at" else 9)
        assert kernels.runtime.last_report().padded_pages == 1
        assert not is_mapped(island[0] + offset)


@pytest.mark.parametrize(
    ("offset", "where"),
    [
        (4096 + 65_536, "65536 bytes after the end of buffer 0 (4096 bytes)"),
        (-4097, "4097 bytes before buffer 0 (4096 bytes)"),
    ],
)
def test_a_far_miss_is_a_fault(kernels: Kernels, offset: int, where: str) -> None:
    with Island() as island:
        out = np.zeros(1, np.uint32)
        with pytest.raises(KernelFault) as caught:
            kernels.call("read_at", BOXES, (1, 1, 1), (1, 1, 1), island, out, np.array([offset]))
        text = str(caught.value)
        assert "kernel 'read_at'" in text
        assert where in text
        assert f"{island[0] + offset:#x}" in text
        assert "next:" in text
    kernels.check_all_styles()


def test_memory_that_may_not_be_written(kernels: Kernels) -> None:
    with Island(2) as (address, _):
        ctypes.CDLL(None).mprotect(ctypes.c_void_p(address + 4096), 4096, 1)
        near = (address, 4096)
        out = np.zeros(1, np.uint32)
        with pytest.raises(KernelFault):
            kernels.call("write_at", BOXES, (1, 1, 1), (1, 1, 1), near, out, np.array([4100]))
        kernels.call("read_at", BOXES, (1, 1, 1), (1, 1, 1), near, out, np.array([4100]))


@pytest.mark.parametrize("name", ["read_wild", "read_impossible"])
def test_a_wild_pointer_is_a_fault(kernels: Kernels, name: str) -> None:
    out = np.zeros(1, np.uint32)
    for _ in range(3):
        with pytest.raises(KernelFault, match="touched memory it must not"):
            kernels.call(name, GROUPS, (64, 1, 1), (64, 1, 1), out, out)
    kernels.check_all_styles()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_fault_names_its_threadgroup(kernels: Kernels, workers: int) -> None:
    with pytest.raises(KernelFault, match=r"threadgroup \(3, 0, 0\)"):
        kernels.call("fault_in_group_3", GROUPS, (640, 1, 1), (64, 1, 1), workers=workers)
    grid, group = (128 * 50, 1, 1), (128, 1, 1)
    with pytest.raises(KernelFault, match=r"threadgroup \(2, 0, 0\), simdgroup 1"):
        kernels.call("fault_after_barrier", SIMDGROUPS, grid, group, workers=workers)
    grid, group = (64 * 50, 1, 1), (64, 1, 1)
    with pytest.raises(KernelFault, match=r"threadgroup \(1, 0, 0\), thread 37"):
        kernels.call("fault_in_thread", THREADS, grid, group, workers=workers)
    kernels.check_all_styles()


@pytest.mark.skipif(platform.machine() == "aarch64", reason="arm64 divides by zero")
def test_a_division_by_zero_is_a_fault(kernels: Kernels) -> None:
    with pytest.raises(KernelFault, match="division"):
        kernels.call("divide", BOXES, (1, 1, 1), (1, 1, 1), np.array([1, 0], np.int32))


@pytest.mark.skipif(platform.machine() != "aarch64", reason="about arm64")
def test_a_division_by_zero_is_zero_on_arm64(kernels: Kernels) -> None:
    values = np.array([1, 0], np.int32)
    kernels.call("divide", BOXES, (1, 1, 1), (1, 1, 1), values)
    assert values.tolist() == [0, 0]


def test_an_illegal_instruction_is_a_fault(kernels: Kernels) -> None:
    with pytest.raises(KernelFault, match="instruction"):
        kernels.call("trap", BOXES, (1, 1, 1), (1, 1, 1))


@pytest.mark.parametrize(
    ("name", "style"),
    [("overflow", GROUPS), ("overflow_simdgroup", SIMDGROUPS), ("overflow_thread", THREADS)],
)
def test_a_stack_overflow_is_a_fault(kernels: Kernels, name: str, style: Style) -> None:
    for _ in range(2):
        with pytest.raises(KernelFault, match="needs more stack"):
            kernels.call(name, style, (64, 1, 1), (64, 1, 1), np.zeros(1, np.int32))
    kernels.check_all_styles()


def test_a_stack_is_as_large_as_the_kernel_says(kernels: Kernels) -> None:
    """In the middle of launches with ordinary stacks, which are then in another place."""
    for _ in range(2):
        out = np.zeros(8, np.int32)
        grid = (256, 1, 1)
        kernels.call("deep", SIMDGROUPS, grid, grid, out, stack_bytes=20 << 20)
        assert out.tolist() == [4000 * 4001 // 2] * 8
        kernels.check_all_styles()


@pytest.mark.parametrize("style", [BOXES, GROUPS, SIMDGROUPS, THREADS])
def test_a_kernel_that_asks_for_too_large_a_stack_does_not_start(
    kernels: Kernels, style: Style
) -> None:
    with pytest.raises(KernelFault, match="needs more stack") as caught:
        kernels.call("nothing", style, (64, 1, 1), (64, 1, 1), stack_bytes=100 << 20)
    assert str(100 << 20) in str(caught.value)
    assert "nothing" in str(caught.value)


def test_a_fault_elsewhere_still_ends_the_process(script) -> None:
    text = """
    import faulthandler, ctypes
    {enable}
    kernels.call("nothing", BOXES, (1, 1, 1), (1, 1, 1))
    {enable_late}
    kernels.call("nothing", BOXES, (1, 1, 1), (1, 1, 1))
    print("alive", flush=True)
    ctypes.string_at(0)
    """
    enable = "faulthandler.enable()"
    for early, late in (("", ""), (enable, ""), ("", enable)):
        done = script(text.format(enable=early, enable_late=late))
        assert done.stdout == "alive\n"
        assert done.returncode == -11
        assert done.stderr.count("Fatal Python error: Segmentation fault") == (
            1 if early or late else 0
        )


def test_handlers_installed_later_are_noticed(kernels: Kernels) -> None:
    was_enabled = faulthandler.is_enabled()
    faulthandler.enable()
    try:
        with pytest.raises(KernelFault):
            kernels.call("read_wild", BOXES, (1, 1, 1), (1, 1, 1), np.zeros(1), np.zeros(1))
    finally:
        if not was_enabled:
            faulthandler.disable()
    with pytest.raises(KernelFault):
        kernels.call("read_wild", BOXES, (1, 1, 1), (1, 1, 1), np.zeros(1), np.zeros(1))
