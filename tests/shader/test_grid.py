"""How many threads, in which threadgroups. No kernel runs here."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

from openmps.errors import DispatchError, ShaderError

from .recorder import Recorder, record

SOURCE = "kernel void k(device float* out, uint i [[thread_position_in_grid]]) { out[i] = i; }"
SHARED = (
    "kernel void k(device float* out, threadgroup float* a [[threadgroup(0)]],"
    " threadgroup float* b [[threadgroup(2)]], uint i [[thread_position_in_grid]]) { out[i] = i; }"
)
PLEASE = (
    "(Could this error message be improved?  If so, please report an enhancement request to "
    "PyTorch.)"
)


@pytest.fixture
def x() -> torch.Tensor:
    return torch.zeros(3, 700, device="mps")


def sizes(x: torch.Tensor, max_threads: int = 1024, **grid: Any) -> tuple[Any, Any]:
    recorder = Recorder(max_threads)
    record(SOURCE, recorder).k(x, **grid)
    return recorder.last.grid, recorder.last.group


@pytest.mark.parametrize(
    ("threads", "group_size", "grid", "group"),
    [
        (None, None, (2100, 1, 1), (1024, 1, 1)),
        (10, None, (10, 1, 1), (10, 1, 1)),
        (10, 4, (10, 1, 1), (4, 1, 1)),
        ((10,), (4,), (10, 1, 1), (4, 1, 1)),
        (None, 64, (2100, 1, 1), (64, 1, 1)),
        ((5, 6), None, (5, 6, 1), (1024, 1, 1)),
        ((5, 6, 7), None, (5, 6, 7), (1024, 1, 1)),
        ([5, 6], [2, 3], (5, 6, 1), (2, 3, 1)),
        ((5, 6, 7), (2, 3, 4), (5, 6, 7), (2, 3, 4)),
        ((1, 1, 1), (32, 32, 1), (1, 1, 1), (32, 32, 1)),
        (True, None, (1, 1, 1), (1, 1, 1)),
        (torch.Size([4, 5]), None, (4, 5, 1), (1024, 1, 1)),
        (np.array([4, 5]), None, (4, 5, 1), (1024, 1, 1)),
        (torch.tensor([4, 5]), None, (4, 5, 1), (1024, 1, 1)),
        ((np.int64(4),), (np.int32(2),), (4, 1, 1), (2, 1, 1)),
        (2**32 - 1, 1, (2**32 - 1, 1, 1), (1, 1, 1)),
    ],
)
def test_sizes(
    x: torch.Tensor, threads: Any, group_size: Any, grid: tuple[int, ...], group: tuple[int, ...]
) -> None:
    assert sizes(x, threads=threads, group_size=group_size) == (grid, group)


def test_a_kernel_may_have_a_lower_limit(x: torch.Tensor) -> None:
    assert sizes(x, 256) == ((2100, 1, 1), (256, 1, 1))
    assert sizes(x, 256, threads=(8, 8)) == ((8, 8, 1), (256, 1, 1))
    with pytest.raises(ValueError, match=r"^Threadgroup size exceeds 256 limit$"):
        sizes(x, 256, group_size=257)


@pytest.mark.parametrize("group_size", [1025, (1025,), 10**12])
def test_a_group_over_the_limit_is_refused(x: torch.Tensor, group_size: Any) -> None:
    with pytest.raises(ValueError, match=r"^Threadgroup size exceeds 1024 limit$"):
        sizes(x, group_size=group_size)


def test_the_limit_is_of_all_axes_together(x: torch.Tensor) -> None:
    with pytest.raises(ValueError, match=r"^Threadgroup size exceeds 1024 limit$"):
        sizes(x, threads=(3, 1024), group_size=(3, 1024))
    with pytest.raises(ValueError, match=r"^Threadgroup size exceeds 1024 limit$"):
        sizes(x, threads=(8, 8, 8), group_size=(32, 32, 2))


def test_the_first_tensor_gives_the_number_of_threads() -> None:
    recorder = Recorder()
    kernel = record(SOURCE, recorder).k
    kernel(1.5, torch.zeros(7, device="mps"), torch.zeros(9, device="mps"))
    assert recorder.last.grid == (7, 1, 1)
    kernel(torch.tensor(2.5), torch.zeros(9, device="mps"))  # a number is a tensor, too
    assert recorder.last.grid == (1, 1, 1)


def test_no_tensor_means_no_number_of_threads() -> None:
    kernel = record(SOURCE, Recorder()).k
    text = "^Number of threads is undefined or has wrong dimension$"
    for arguments in ((), (12,), ([torch.zeros(3, device="mps")],)):
        with pytest.raises(RuntimeError, match=text):
            kernel(*arguments)
    kernel(12, threads=3)


@pytest.mark.parametrize("axes", [(), [], (1, 2, 3, 4)])
def test_one_to_three_axes(x: torch.Tensor, axes: Any) -> None:
    text = f"Expected vec.size() > 0 && vec.size() < 4 to be true, but got false.  {PLEASE}"
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        sizes(x, threads=axes)
    with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
        sizes(x, group_size=axes)


def test_group_and_grid_have_the_same_axes(x: torch.Tensor) -> None:
    text = (
        "Expected !group_size.has_value() || threads->size() == group_size->size() to be true, "
        f"but got false.  {PLEASE}"
    )
    for threads, group_size in (((4, 4), 4), (16, (4, 4)), (None, (4, 4))):
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}$"):
            sizes(x, threads=threads, group_size=group_size)


@pytest.mark.parametrize(
    "axes", [-1, 1.5, "12", b"12", (1, -1), (1.5,), ("a",), {}, np.int64(3), 2**64, object()]
)
def test_axes_are_positive_integers(x: torch.Tensor, axes: Any) -> None:
    text = f"Unable to cast Python instance of type {type(axes)} to C++ type '?' "
    for name in ("threads", "group_size"):
        with pytest.raises(RuntimeError, match=f"^{re.escape(text)}"):
            sizes(x, **{name: axes})


@pytest.mark.parametrize("threads", [0, (0,), (0, 3), (3, 0), (1, 1, 0)])
def test_an_empty_grid_starts_nothing(x: torch.Tensor, threads: Any) -> None:
    recorder = Recorder()
    record(SOURCE, recorder).k(x, threads=threads)
    assert recorder.launches == []


def test_an_empty_group_is_refused(x: torch.Tensor) -> None:
    with pytest.raises(DispatchError, match="at least one thread") as refused:
        sizes(x, threads=(4, 4), group_size=(4, 0))
    assert "next:" in str(refused.value)


def test_an_axis_has_32_bits(x: torch.Tensor) -> None:
    with pytest.raises(DispatchError, match="4294967295 threads along an axis"):
        sizes(x, threads=2**32)


def test_a_wrong_argument_is_named_before_a_wrong_grid(x: torch.Tensor) -> None:
    kernel = record(SOURCE, Recorder()).k
    with pytest.raises(RuntimeError, match="Unsupported argument type"):
        kernel(None)


def test_unknown_keywords_are_a_type_error(x: torch.Tensor) -> None:
    with pytest.raises(TypeError, match="grid"):
        sizes(x, grid=3)


class TestThreadgroupMemory:
    @pytest.mark.parametrize(
        ("source", "asked", "memory"),
        [
            (
                SOURCE.replace("uint i", "threadgroup int* m [[threadgroup(0)]], uint i"),
                64,
                {0: 64},
            ),
            (SHARED, {0: 64, 2: 20}, {0: 64, 2: 20}),
            (SHARED, {0: 16384, 2: 16384}, {0: 16384, 2: 16384}),
        ],
    )
    def test_is_given_by_index(
        self, x: torch.Tensor, source: str, asked: Any, memory: dict[int, int]
    ) -> None:
        recorder = Recorder()
        record(source, recorder).k(x, threadgroup_memory=asked)
        assert recorder.last.memory == memory

    def test_is_forgotten_after_the_call(self, x: torch.Tensor) -> None:
        recorder = Recorder()
        kernel = record(SOURCE, recorder).k
        kernel(x, threadgroup_memory=64)
        kernel(x)
        assert recorder.last.memory == {}

    @pytest.mark.parametrize("asked", [None, {0: 64}, {0: 64, 2: 0}, 64])
    def test_must_be_given_where_the_kernel_has_an_argument_for_it(
        self, x: torch.Tensor, asked: Any
    ) -> None:
        with pytest.raises(ShaderError, match=r"kernel 'k' needs threadgroup memory") as refused:
            record(SHARED, Recorder()).k(x, threadgroup_memory=asked)
        assert "next: pass threadgroup_memory={" in str(refused.value)

    def test_has_32_kilobytes_together_with_the_kernel_s_own(self, x: torch.Tensor) -> None:
        kernel = record(SOURCE, Recorder(static_bytes=1024)).k
        kernel(x, threadgroup_memory=31744)
        with pytest.raises(DispatchError) as refused:
            kernel(x, threadgroup_memory=31745)
        text = "Threadgroup memory size (32784) exceeds the maximum threadgroup memory allowed"
        assert str(refused.value).startswith(text)
        assert isinstance(refused.value, ValueError)

    @pytest.mark.parametrize("asked", [-1, {31: 16}, {-1: 16}])
    def test_has_indices_and_sizes_from_0_on(self, x: torch.Tensor, asked: Any) -> None:
        with pytest.raises(DispatchError, match="indices from 0 to 30"):
            record(SOURCE, Recorder()).k(x, threadgroup_memory=asked)

    @pytest.mark.parametrize("asked", ["64", 6.5, [64], {0: "64"}])
    def test_is_a_number_or_a_dict(self, x: torch.Tensor, asked: Any) -> None:
        with pytest.raises(TypeError, match="threadgroup_memory must be"):
            record(SOURCE, Recorder()).k(x, threadgroup_memory=asked)
