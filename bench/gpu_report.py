"""Figures against their goals: printed by each benchmark for the GPU, kept as JSON, and read again
for one table of all.

    python bench/gpu_report.py FOLDER
"""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Row:
    """`figure` is what has the goal: a ratio, a difference, or nothing but itself."""

    what: str
    base: float  # of cuda, or of the code written by hand
    mps: float
    unit: str
    figure: float
    goal: float | None = None
    at_most: bool = False

    @property
    def met(self) -> bool | None:
        if self.goal is None:
            return None
        return self.figure <= self.goal if self.at_most else self.figure >= self.goal

    @classmethod
    def without_figures(cls, what: str, goal: float | None) -> Row:
        """Of what failed: its goal counts as missed."""
        return cls(what, math.nan, math.nan, "", math.nan, goal)

    def line(self) -> str:
        goal = verdict = ""
        if self.goal is not None:
            goal = f"{'<=' if self.at_most else '>='} {self.goal:g}"
            verdict = "met" if self.met else "MISSED"
        return (
            f"{self.what:46} {number(self.base):>9} {number(self.mps):>9} {self.unit:9} "
            f"{self.figure:7.3f} {goal:>7} {verdict}"
        ).rstrip()


HEADER = f"{'what':46} {'base':>9} {'mps':>9} {'unit':9} {'figure':>7} {'goal':>7}"


def number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def folder() -> Path:
    """Where figures and logs go."""
    path = Path(os.environ.get("OUT") or Path(__file__).parent.parent / "build" / "gpu")
    path.mkdir(parents=True, exist_ok=True)
    return path


def show(title: str, rows: Iterable[Row]) -> None:
    print(title)
    print(HEADER)
    for row in rows:
        print(row.line(), flush=True)


def keep(name: str, title: str, rows: Iterable[Row], **facts: Any) -> None:
    figures = {"title": title, "rows": [asdict(row) for row in rows], **facts}
    (folder() / f"{name}.json").write_text(json.dumps(figures, indent=1) + "\n")


def read(path: Path) -> tuple[str, list[Row]]:
    figures = json.loads(path.read_text())
    return figures["title"], [Row(**row) for row in figures["rows"]]


def main() -> None:
    met = missed = 0
    for path in sorted(Path(sys.argv[1]).glob("gpu_*.json")):
        title, rows = read(path)
        show(f"\n{title}", rows)
        met += sum(row.met is True for row in rows)
        missed += sum(row.met is False for row in rows)
    print(f"\ngoals: {met} met, {missed} missed")
    sys.exit(missed > 0 or not met)


if __name__ == "__main__":
    main()
