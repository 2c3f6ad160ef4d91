"""One way to time: both sides in turn, in one process, so that a busy machine hits both alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Pair:
    """Seconds per call of a baseline and of the thing measured, round by round.

    `over_us` and `speed` compare within a round, and are the medians of that: a machine that slows
    down half-way does not move them.
    """

    base: list[float]
    other: list[float]

    @property
    def base_s(self) -> float:
        return statistics.median(self.base)

    @property
    def other_s(self) -> float:
        return statistics.median(self.other)

    @property
    def ratio(self) -> float:
        return self.other_s / self.base_s

    @property
    def fastest_ratio(self) -> float:
        """Of the best rounds: what is left when the rest of the machine is quiet."""
        return min(self.other) / min(self.base)

    @property
    def speed(self) -> float:
        """How many times as fast as the baseline it is: the median of the rounds' own ratios."""
        return statistics.median(b / o for b, o in zip(self.base, self.other, strict=True))

    @property
    def spread(self) -> float:
        """How far `speed` may be off, as a part of it: the rounds between which a median lies in
        nine cases of ten. Of few rounds, all."""
        ratios = sorted(b / o for b, o in zip(self.base, self.other, strict=True))
        left_out = _surely_outside(len(ratios))
        low, high = ratios[left_out], ratios[-1 - left_out]
        return max(high / self.speed - 1, 1 - low / self.speed)

    def __add__(self, more: Pair) -> Pair:
        return Pair(self.base + more.base, self.other + more.other)

    @property
    def over_us(self) -> float:
        return statistics.median(o - b for b, o in zip(self.base, self.other, strict=True)) * 1e6


def _surely_outside(count: int) -> int:
    """How many of so many sorted values, at each end, a median lies beyond in one case of ten."""
    sure = 0.0
    for number in range(count // 2):
        sure += math.comb(count, number) / 2**count
        if sure > 0.05:
            return number
    return max(0, (count - 1) // 2)


def nothing() -> None:
    pass


def alternate(
    base: Callable[[], object],
    other: Callable[[], object],
    *,
    calls: int,
    rounds: int,
    warm_up: bool = True,
    wait: Callable[[], object] = nothing,
    after_round: Callable[[], object] = nothing,
) -> Pair:
    """Times `calls` calls of each, `rounds` times, after one unmeasured round to warm up.

    Who goes first changes with every round. The clock is read after `wait`, which a device that
    works on by itself needs.
    """
    pair = Pair([], [])
    sides = [(pair.base, base), (pair.other, other)]
    for turn in range(0 if warm_up else 1, rounds + 1):
        for times, function in sides if turn % 2 else reversed(sides):
            wait()
            begin = time.perf_counter()
            for _ in range(calls):
                function()
            wait()
            if turn:
                times.append((time.perf_counter() - begin) / calls)
        after_round()
    return pair
