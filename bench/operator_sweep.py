"""Measures every operator, quickly; then those that seem too slow, again and longer.

A shared machine makes any figure too large now and then, and none too small: an outlier is one that
stays one in every measurement.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from openmps.bench.measure import Pair
from operator_verdicts import Figure, Limits
from sides import CaseFailed

MOST_CALLS = 2000


class Refused(Exception):
    """As on a Mac."""


class NoSample(Exception):
    """Nothing in the database that works on the CPU."""


class Measurer(Protocol):
    """Both devices with one operator on them."""

    def open(self, name: str) -> dict[str, tuple[int, tuple[str, ...]]]:
        """Variants: the number of operators in a call on the base, the boxed ones on mps."""
        ...

    def base_seconds(self, variant: str) -> float:
        """Of one call, roughly."""
        ...

    def measure(self, variant: str, calls: int, rounds: int) -> Pair: ...


@dataclass(frozen=True)
class Effort:
    small_s: float  # of one round with small arguments
    large_s: float
    rounds: int


@dataclass
class Sweep:
    measurer: Measurer
    limits: Limits
    efforts: Sequence[Effort]  # the first for all, the others while an operator seems too slow
    stop_at: float  # time.monotonic()
    figures: list[Figure] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    without_sample: list[str] = field(default_factory=list)
    broken: dict[str, str] = field(default_factory=dict)
    not_reached: list[str] = field(default_factory=list)
    not_confirmed: int = 0

    def run(self, names: Sequence[str], progress: Callable[[str], object]) -> None:
        for name in names:
            if time.monotonic() > self.stop_at:
                self.not_reached.append(name)
                continue
            try:
                self.figures += self._figures(name)
            except Refused:
                self.refused.append(name)
            except NoSample:
                self.without_sample.append(name)
            except (Exception, CaseFailed) as error:
                last = str(error).strip().splitlines()[-1:]
                self.broken[name] = f"{type(error).__name__}: {' '.join(last)}"[:200]
            progress(name)

    def confirm(self, progress: Callable[[str], object]) -> None:
        """Opens what is still too slow once more, with other neighbours on the machine."""
        slow = {f.operator for f in self.figures if f.severity(self.limits) > 1}
        for name in sorted(slow):
            if time.monotonic() > self.stop_at:
                self.not_confirmed += 1
                continue
            wanted = {
                f.variant
                for f in self.figures
                if f.operator == name and f.severity(self.limits) > 1
            }
            try:
                again = {f.variant: f for f in self._figures(name, wanted, self.efforts[-1:])}
            except (Exception, CaseFailed):
                continue
            self.figures = [
                better(f, again[f.variant]) if f.operator == name and f.variant in again else f
                for f in self.figures
            ]
            progress(name)

    def _figures(
        self,
        name: str,
        wanted: set[str] | None = None,
        efforts: Sequence[Effort] | None = None,
    ) -> list[Figure]:
        figures = []
        for variant, (calls, boxed) in self.measurer.open(name).items():
            if wanted is not None and variant not in wanted:
                continue
            figure = None
            once = self.measurer.base_seconds(variant)
            for effort in efforts or self.efforts:
                fill = effort.large_s if variant.startswith("large") else effort.small_s
                repeats = max(1, min(MOST_CALLS, round(fill / once)))
                pair = self.measurer.measure(variant, repeats, effort.rounds)
                new = figure_of(name, variant, pair, calls, boxed)
                figure = new if figure is None else better(figure, new)
                if figure.severity(self.limits) <= 1:
                    break
            assert figure is not None
            figures.append(figure)
        return figures


def better(one: Figure, other: Figure) -> Figure:
    return one if one.over_us <= other.over_us else replace(other)


def figure_of(name: str, variant: str, pair: Pair, calls: int, boxed: tuple[str, ...]) -> Figure:
    over = min(pair.over_us, (min(pair.other) - min(pair.base)) * 1e6)
    base = statistics.median(pair.base) * 1e6
    return Figure(name, variant, base, base + over, over, calls, boxed)
