"""A benchmark's rows, its JSON, and the comparison with an earlier one's."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openmps.bench.chart import Speedup
from openmps.bench.subjects import DTYPES, MODELS, MODES, PRODUCTS, SUBJECTS, Case
from openmps.errors import OpenmpsError

SCHEMA = "openmps-bench/1"
# A speed-up that may be off by more is said to be unsteady.
STEADY = 0.1


@dataclass(frozen=True)
class Row:
    """Seconds of one call, on each device. `failed` says why there are none, or do not count."""

    case: Case
    cpu_s: float
    mps_s: float
    rounds: int
    failed: str = ""
    # The median of the rounds' own ratios, where it is known.
    speed: float | None = field(default=None, compare=False)
    spread: float = 0.0  # how far that may be off, as a part of it

    @classmethod
    def without_figures(cls, case: Case, failed: str) -> Row:
        return cls(case, math.nan, math.nan, 0, failed)

    @property
    def measured(self) -> bool:
        return not math.isnan(self.mps_s)

    @property
    def speedup(self) -> float:
        return self.cpu_s / self.mps_s if self.speed is None else self.speed

    @property
    def is_steady(self) -> bool:
        return self.spread <= STEADY

    def as_json(self) -> dict[str, Any]:
        figures = (
            {
                "cpu_seconds": self.cpu_s,
                "mps_seconds": self.mps_s,
                "cpu": self.case.work / self.cpu_s,
                "mps": self.case.work / self.mps_s,
                "speedup": self.speedup,
                "spread": self.spread,
            }
            if self.measured
            else dict.fromkeys(("cpu_seconds", "mps_seconds", "cpu", "mps", "speedup", "spread"))
        )
        return {
            "name": self.case.name,
            **self.case._asdict(),
            "size": self.case.size,
            "unit": self.case.unit,
            **figures,
            "rounds": self.rounds,
            "failed": self.failed,
        }

    @classmethod
    def of_json(cls, row: dict[str, Any]) -> Row:
        case = Case(str(row["subject"]), str(row["mode"]), int(row["side"]), int(row["batch"]))
        known = (
            case.mode in DTYPES if case.subject == PRODUCTS else case.mode in MODES
        ) and case.subject in SUBJECTS
        if not known or case.side < 1 or case.batch < 1:
            raise ValueError(f"no benchmark is called {case.name!r} with {case.side, case.batch}")
        if row["mps_seconds"] is None:
            return cls.without_figures(case, str(row["failed"]))
        times = float(row["cpu_seconds"]), float(row["mps_seconds"])
        if not all(0 < seconds < math.inf for seconds in times):
            raise ValueError(f"{case.name} has seconds that cannot be")
        speed = None if row.get("speedup") is None else float(row["speedup"])
        spread = float(row.get("spread", 0.0))
        return cls(case, *times, int(row["rounds"]), str(row["failed"]), speed, spread)


def speedups(rows: Sequence[Row]) -> list[Speedup]:
    """Of the models of which there is both."""
    found = {(row.case.subject, row.case.mode): row.speedup for row in rows if row.measured}
    return [
        Speedup(name, found[name, "training"], found[name, "evaluation"])
        for name in MODELS
        if (name, "training") in found and (name, "evaluation") in found
    ]


@dataclass(frozen=True)
class Earlier:
    """A run before this one, from its JSON."""

    about: str
    rows: dict[Case, Row]


def read_earlier(path: Path) -> Earlier:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if not isinstance(content, dict) or content.get("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        rows = [Row.of_json(row) for row in content["rows"]]
        about = f"torch {content['torch']}, {content['mac']}, engine {content['engine']}"
    except OSError as error:
        raise _unreadable(path, error.strerror or str(error)) from error
    except (ValueError, KeyError, TypeError) as error:
        told = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise _unreadable(path, told) from error
    measured = {row.case: row for row in rows if row.measured}
    if not measured:
        raise _unreadable(path, "it has no figures")
    return Earlier(about, measured)


def _unreadable(path: Path, why: str) -> OpenmpsError:
    return OpenmpsError(
        "--compare cannot read this file",
        found=f"{path}: {why}",
        next_step="name a file that `openmps bench --json FILE` has written",
    )


@dataclass(frozen=True)
class Change:
    """A case now and before. What counts is the speed-up: a busy machine hits both of its sides."""

    now: Row
    before: Row

    @property
    def speedup(self) -> float:
        return self.now.speedup / self.before.speedup

    @property
    def mps(self) -> float:
        return self.before.mps_s / self.now.mps_s

    @property
    def cpu(self) -> float:
        return self.before.cpu_s / self.now.cpu_s

    def is_slower(self, tolerance: float) -> bool:
        return self.speedup < 1 - tolerance

    def as_json(self, tolerance: float) -> dict[str, Any]:
        return {
            "name": self.now.case.name,
            "size": self.now.case.size,
            "speedup": self.speedup,
            "mps": self.mps,
            "cpu": self.cpu,
            "slower": self.is_slower(tolerance),
        }


def changes(rows: Sequence[Row], earlier: Earlier) -> list[Change]:
    return [
        Change(row, earlier.rows[row.case])
        for row in rows
        if row.measured and row.case in earlier.rows
    ]
