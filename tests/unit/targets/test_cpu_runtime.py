"""The runtime: who runs what, in which order, in which thread."""

from __future__ import annotations

import mmap
import os
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from openmps.errors import DispatchError, KernelTimeout
from openmps.targets.cpu_runtime import Style

if TYPE_CHECKING:
    from conftest import Kernels

BOXES, GROUPS, SIMDGROUPS, THREADS = Style


@pytest.mark.parametrize("style", [BOXES, GROUPS])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("grid", [(1, 1, 1), (100_003, 1, 1), (70, 90, 11), (3, 5, 4001)])
def test_every_thread_runs_once(kernels: Kernels, style: Style, workers: int, grid) -> None:
    out = np.zeros(grid[::-1], np.uint32)
    kernels.call("visit", style, grid, (32, 4, 2), out, workers=workers)
    assert (out == 1).all()


def test_grids_larger_than_32_bits(kernels: Kernels) -> None:
    out = np.zeros(2, np.uint64)
    grid = (2**32 - 1, 16, 3)
    kernels.call("count_threads", BOXES, grid, (1, 1, 1), out, workers=2)
    assert out[0] == grid[0] * grid[1] * grid[2]
    with pytest.raises(DispatchError):
        kernels.call("count_threads", BOXES, (2**32 - 1, 2**20, 2**20), (1, 1, 1), out)


def test_an_empty_grid_runs_nothing(kernels: Kernels) -> None:
    kernels.call("read_wild", GROUPS, (0, 1, 1), (1, 1, 1), np.zeros(1), np.zeros(1))


def test_too_many_threads_in_a_group(kernels: Kernels) -> None:
    with pytest.raises(DispatchError, match="next:"):
        kernels.call("nothing", GROUPS, (1, 1, 1), (1025, 1, 1))


def test_groups_at_the_edge_are_smaller(kernels: Kernels) -> None:
    out = np.zeros((2, 3, 2, 6), np.uint32)
    kernels.call("shape", SIMDGROUPS, (20, 7, 3), (16, 3, 2), out)
    for z, y, x in np.ndindex(2, 3, 2):
        shape = (4 if x else 16, 1 if y == 2 else 3, 1 if z else 2)
        threads = int(np.prod(shape))
        assert out[z, y, x].tolist() == [*shape, threads, -(-threads // 32), 0]


def calls_until_helped(kernels: Kernels, *call: Any) -> int:
    """A busy machine may let the other thread run only when there is nothing left to do."""
    calls = 0
    while calls < 100:
        kernels.call(*call, workers=2)
        calls += 1
        if kernels.runtime.last_report().workers == 2:
            break
    return calls


def test_large_launches_get_help(kernels: Kernels) -> None:
    out = np.zeros(1, np.uint32)
    call = ("slow_count", GROUPS, (20_000, 1, 1), (100, 1, 1), out)
    calls = calls_until_helped(kernels, *call)
    assert out[0] == calls * 20_000
    assert kernels.runtime.last_report().workers == 2


def test_small_launches_stay_in_their_thread(kernels: Kernels) -> None:
    workers = []
    for _ in range(21):
        kernels.call("nothing", BOXES, (10_000, 1, 1), (32, 1, 1), workers=2)
        workers.append(kernels.runtime.last_report().workers)
    # One that the machine interrupts looks large.
    assert sorted(workers)[10] == 1


def test_small_launches_after_large_ones_stay_in_their_thread(kernels: Kernels) -> None:
    def workers(turns: int) -> int:
        buffer = np.array([turns], np.uint32)
        kernels.call("spin", BOXES, (10_000, 1, 1), (32, 1, 1), buffer, workers=2)
        return kernels.runtime.last_report().workers

    small = []
    for _ in range(10):
        workers(100_000)
        time.sleep(0.003)  # the helper sleeps again, and wakes on the core of whom it is to help
        small += [workers(0) for _ in range(21)]
    assert sorted(small)[len(small) // 2] == 1


@pytest.mark.parametrize("workers", [1, 2])
def test_groups_may_wait_for_earlier_ones(kernels: Kernels, workers: int) -> None:
    for _ in range(20):
        out = np.zeros(3000, np.uint32)
        kernels.call("look_back", GROUPS, (3000 * 64, 1, 1), (64, 1, 1), out, workers=workers)
        assert (out == 64 * np.arange(1, 3001)).all()
        out[:] = 0
        grid, group = (3000 * 128, 1, 1), (128, 1, 1)
        kernels.call("look_back_simdgroup", SIMDGROUPS, grid, group, out, workers=workers)
        assert (out == 4 * np.arange(1, 3001)).all()


def test_two_threads_may_launch_at_once(kernels: Kernels) -> None:
    outs = [np.zeros(1, np.uint32) for _ in range(3)]

    def work(out: np.ndarray) -> None:
        for _ in range(10):
            kernels.call("slow_count", GROUPS, (2000, 1, 1), (50, 1, 1), out, workers=2)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert [int(out[0]) for out in outs] == [20_000] * 3


def test_a_child_process_has_its_own_pool(kernels: Kernels) -> None:
    out = np.frombuffer(mmap.mmap(-1, 4096), np.uint32)
    call = ("slow_count", GROUPS, (5000, 1, 1), (50, 1, 1), out)
    kernels.call(*call, workers=2)
    child = os.fork()
    if child == 0:
        try:
            out[3] = calls_until_helped(kernels, *call)
            out[1] = kernels.runtime.last_report().workers
            with pytest.raises(KernelTimeout):
                kernels.call("endless", GROUPS, (4, 1, 1), (1, 1, 1), workers=2, limit_s=0.05)
            out[2] = 1
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    assert out[:3].tolist() == [5000 * (1 + out[3]), 2, 1]


def test_simdgroups_take_turns_highest_first(kernels: Kernels) -> None:
    out = np.zeros(64, np.uint32)
    kernels.call("order", SIMDGROUPS, (128, 1, 1), (128, 1, 1), out)
    expected = [103, 102, 101, 100, 203, 202, 201, 200, 303, 302, 301, 300, 403, 401, 400]
    assert out[1 : out[0] + 1].tolist() == expected


@pytest.mark.parametrize("threads", [32, 64, 1000, 1024])
def test_barriers(kernels: Kernels, threads: int) -> None:
    out = np.zeros((3, 64), np.uint32)
    rounds = np.array([100], np.uint32)
    grid, group = (3 * threads, 1, 1), (threads, 1, 1)
    kernels.call("barriers", SIMDGROUPS, grid, group, out, rounds)
    assert (out[:, : -(-threads // 32)] == 99).all()
    assert (out[:, 32:] == 0).all()


@pytest.mark.parametrize("workers", [1, 2])
def test_dynamic_threadgroup_memory(kernels: Kernels, workers: int) -> None:
    out = np.zeros((100, 96), np.float32)
    kernels.call(
        "dynamic",
        SIMDGROUPS,
        (9600, 1, 1),
        (96, 1, 1),
        out,
        workers=workers,
        dynamic=(96 * 4, 0, 96 * 4),
    )
    assert (out == np.arange(95, -1, -1) - 1).all()
