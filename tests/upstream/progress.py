"""A line now and then that says how far a run is."""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from types import TracebackType

from .results import Result
from .verdicts import Verdict, cause, verdict

_EVERY_SECONDS = 15.0


class Progress:
    def __init__(self, cases: int) -> None:
        self._cases = cases
        self._counts: Counter[Verdict] = Counter()
        self._began = self._told = time.monotonic()
        self._lock = threading.Lock()

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._print()

    def tell(self, result: Result) -> None:
        with self._lock:
            self._counts[verdict(result)] += 1
            if verdict(result) is Verdict.DIFFERS:
                _say(f"  {result.name}: {cause(result)[:160]}")
            if time.monotonic() - self._told > _EVERY_SECONDS:
                self._told = time.monotonic()
                self._print()

    def _print(self) -> None:
        done = self._counts.total()
        took = time.monotonic() - self._began
        left = (self._cases - done) * took / done if done else 0
        counts = ", ".join(f"{self._counts[v]} {v.value}" for v in Verdict)
        _say(f"{done} of {self._cases}: {counts}; {took:.0f} s, some {left:.0f} s left")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
