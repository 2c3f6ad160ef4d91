"""What a process holds, and whether it holds more than it did."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import threading
import warnings
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, fields
from operator import attrgetter
from pathlib import Path

import torch

# What no work may add to, not by one. Memory has a limit of its own.
EXACT = ("files", "threads", "python_threads", "tensors", "allocated", "driver")
WANDERING_BYTES = 8 << 20
WANDERING_PLACES = 16
# What PyTorch keeps of each, on the CPU, too: a traced graph's text; a compilation's records (17 to
# 43 KB were measured).
KEPT_BY_TORCH = {"graphs": 4 << 10, "compiling": 24 << 10}


@dataclass(frozen=True)
class Figures:
    """files: open descriptors. tensors: that Python knows. allocated, driver: the Mac's own bytes.
    resident: bytes of the process. mapped: how many places in its address space."""

    files: int
    threads: int
    python_threads: int
    tensors: int
    allocated: int
    driver: int
    resident: int
    mapped: int


def look() -> Figures:
    """After everything that can be given back was given back."""
    for _ in range(3):
        gc.collect()
    torch.mps.synchronize()
    torch.mps.empty_cache()
    ctypes.CDLL(None).malloc_trim(0)
    process = Path("/proc/self")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some objects warn when they are looked at
        tensors = sum(isinstance(each, torch.Tensor) for each in gc.get_objects())
    pages = int((process / "statm").read_text().split()[1])
    return Figures(
        files=len(os.listdir(process / "fd")),
        threads=len(os.listdir(process / "task")),
        python_threads=threading.active_count(),
        tensors=tensors,
        allocated=torch.mps.current_allocated_memory(),
        driver=torch.mps.driver_allocated_memory(),
        resident=pages * os.sysconf("SC_PAGE_SIZE"),
        mapped=(process / "maps").read_text().count("\n"),
    )


def growth(seen: Sequence[Figures], rounds: int, works: Collection[str] = ()) -> list[str]:
    """What grew from the first to the last look, with `rounds` of these works in all.

    Memory wanders without growing: the lowest of the last third is compared with the lowest of the
    first, because what leaks has no low point late.
    """
    grown = [_told(name, seen[0], seen[-1]) for name in EXACT if _grew(name, seen[0], seen[-1])]
    third = max(1, len(seen) // 3)
    for name, allowed in (
        ("resident", WANDERING_BYTES + rounds * sum(KEPT_BY_TORCH.get(w, 0) for w in works)),
        ("mapped", WANDERING_PLACES),
    ):
        lowest = [min(part, key=attrgetter(name)) for part in (seen[:third], seen[-third:])]
        if _grew(name, *lowest, allowed):
            grown.append(_told(name, *lowest))
    return grown


def open_files() -> list[str]:
    """What the descriptors of this process stand for."""
    found = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):  # that of the listing itself
            found.append(os.readlink(f"/proc/self/fd/{number}"))
    return sorted(found)


def _grew(name: str, first: Figures, last: Figures, allowed: int = 0) -> bool:
    return bool(getattr(last, name) > getattr(first, name) + allowed)


def _told(name: str, first: Figures, last: Figures) -> str:
    return f"{name}: {getattr(first, name)} in the beginning, {getattr(last, name)} in the end"


def line(figures: Figures) -> str:
    values = asdict(figures)
    for name in ("allocated", "driver", "resident"):
        values[name] = f"{values[name] / (1 << 20):.1f}M"
    return " ".join(f"{values[each.name]:>{len(each.name) + 1}}" for each in fields(Figures))


def heading() -> str:
    return " ".join(f"{each.name:>{len(each.name) + 1}}" for each in fields(Figures))
