"""What became of each case, as lines of JSON: appended at once, so that a run can be resumed."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import Enum
from pathlib import Path

from openmps.errors import OpenmpsError


class Outcome(str, Enum):
    PASSED = "passed"
    FAILED = "failed"
    EXPECTED_FAILURE = "expected failure"
    UNEXPECTED_SUCCESS = "unexpected success"
    SKIPPED = "skipped"
    CRASHED = "crashed"
    HUNG = "hung"
    MEMORY = "memory"


@dataclass(frozen=True)
class Result:
    """error: an exception's last line, a skip's reason, or how the process ended.
    marked: skipped by a decorator, which was decided when the suite was imported.
    unsaid: of a class that the suite does not run on Macs.
    younger: over an operator that Macs have in the suite's torch, and not yet in the installed one.
    late: what the device had yet to report in the end, as a Mac would.
    peak_mb: of the whole worker process while the case ran; its imports take the most of it.
    source: which sources of openmps it was taken with."""

    name: str
    outcome: Outcome
    error: str = ""
    seconds: float = 0.0
    peak_mb: int = 0
    op: str = ""
    dtype: str = ""
    source: str = ""
    marked: bool = False
    unsaid: bool = False
    younger: bool = False
    late: str = ""

    @property
    def group(self) -> str:
        return self.name.partition(".")[0]

    def with_source(self, source: str) -> Result:
        return replace(self, source=source)


class ResultsUnusable(OpenmpsError):
    pass


class ResultsFile:
    """Its first line tells what was run (`conditions`). Of a case's lines the last one counts."""

    def __init__(self, path: Path, conditions: Mapping[str, str], *, fresh: bool) -> None:
        self.results: dict[str, Result] = {}
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True)
        if fresh or not path.exists() or not path.stat().st_size:
            path.write_text(json.dumps({"conditions": dict(conditions)}) + "\n")
        else:
            self._resume(path, dict(conditions))
        self._file = path.open("a")

    def _resume(self, path: Path, conditions: dict[str, str]) -> None:
        text = path.read_text()
        whole, _, torn = text.rpartition("\n")
        if torn:  # the run was killed while it wrote
            path.write_text(whole + "\n")
        lines = whole.splitlines()
        try:
            found = json.loads(lines[0])["conditions"]
            results = [_read(json.loads(line)) for line in lines[1:]]
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ResultsUnusable(
                f"{path} holds no results of this script",
                found=repr(error),
                next_step="name another file with --results, or start anew with --fresh",
            ) from error
        if found != conditions:
            both = {*found, *conditions}
            apart = sorted(key for key in both if found.get(key) != conditions.get(key))
            raise ResultsUnusable(
                f"{path} was made under other conditions",
                found="; ".join(f"{k}: {found.get(k)}, now {conditions.get(k)}" for k in apart),
                next_step="start anew with --fresh, or name another file with --results",
            )
        self.results = {result.name: result for result in results}

    def add(self, result: Result) -> None:
        line = json.dumps({**asdict(result), "outcome": result.outcome.value})
        with self._lock:
            self.results[result.name] = result
            self._file.write(line + "\n")
            self._file.flush()

    def close(self) -> None:
        self._file.close()


def _read(line: dict[str, object]) -> Result:
    known = {field.name for field in fields(Result)}
    values = {key: value for key, value in line.items() if key in known}
    return Result(**{**values, "outcome": Outcome(values["outcome"])})  # type: ignore[arg-type]
