from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from .figures import EXACT, WANDERING_BYTES, Figures, growth

Python = Callable[..., "subprocess.CompletedProcess[str]"]
BEGAN = Figures(
    files=6, threads=2, python_threads=1, tensors=3, allocated=0, driver=0,
    resident=1 << 28, mapped=90,
)  # fmt: skip


def with_more(**more: int) -> Figures:
    return dataclasses.replace(BEGAN, **{k: getattr(BEGAN, k) + v for k, v in more.items()})


@pytest.mark.parametrize("name", EXACT)
def test_one_more_of_anything_is_growth(name: str) -> None:
    (told,) = growth([BEGAN, BEGAN, with_more(**{name: 1})], rounds=100)
    assert told.startswith(f"{name}: {getattr(BEGAN, name)} in the beginning")


def test_memory_may_wander() -> None:
    high = with_more(resident=WANDERING_BYTES * 4, mapped=50)
    peaks = [high if n % 2 else BEGAN for n in range(9)]
    assert growth(peaks, rounds=9) == []


def test_memory_may_not_grow() -> None:
    climbing = [with_more(resident=n << 20, mapped=3 * n) for n in range(30)]
    assert [told.split(":")[0] for told in growth(climbing, rounds=30)] == ["resident", "mapped"]


@pytest.mark.slow
@pytest.mark.cpu_engine("a GPU's driver keeps threads and memory of its own")
def test_a_few_rounds_leave_a_process_as_it_began(python: Python) -> None:
    """The hour is scripts/soak's. Here: open files, threads, tensors, the Mac's figures."""
    paths = [str(Path(__file__).parents[1]), *sys.path]
    done = python(
        "-m", "soak", "--rounds", "2", "--looks", "3", PYTHONPATH=":".join(filter(None, paths))
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing grew" in done.stdout


@pytest.mark.cpu_engine("a card's kernel cannot be interrupted")
def test_it_interrupts_also_in_the_background() -> None:
    """Where a shell has interrupts ignored for what it starts there."""
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "soak", "--rounds", "1", "--looks", "2", "--works", "interrupts"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), *filter(None, sys.path)])},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert "rounds of interrupts" in done.stdout, done.stderr
