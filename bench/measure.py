"""One way to time: both sides in turn, in one process, so that a busy machine hits both alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Median seconds per call of a baseline and of the thing measured."""

    base_s: float
    other_s: float

    @property
    def ratio(self) -> float:
        return self.other_s / self.base_s

    @property
    def over_us(self) -> float:
        return (self.other_s - self.base_s) * 1e6


def alternate(
    base: Callable[[], object], other: Callable[[], object], *, calls: int, rounds: int
) -> Pair:
    """Times `calls` calls of each in turn, `rounds` times, after one unmeasured round."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for side, function in enumerate((base, other)):
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            if turn:
                times[side].append((time.perf_counter() - begin) / calls)
    return Pair(statistics.median(times[0]), statistics.median(times[1]))
