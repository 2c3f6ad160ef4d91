"""A pytest plugin, loaded into the project's own run: a line of JSON as each test begins and ends.

It imports nothing of this package, so that the project's environment needs nothing of ours.
"""

from __future__ import annotations

import faulthandler
import json
import os
import random
import sys
from collections.abc import Iterator
from typing import Any, TextIO

import pytest

_RESULTS = "OPENMPS_DOWNSTREAM_RESULTS"
_SECONDS = "OPENMPS_DOWNSTREAM_SECONDS"
# Worst last: a test that passes and then fails in its teardown has failed.
_ORDER = ("skipped", "passed", "expected failure", "failed")


class Recorder:
    """Leaves out tests of which the file tells already, so that a run goes on behind a crash."""

    def __init__(self, path: str, seconds: float) -> None:
        self._seconds = seconds
        self._known: set[str] = set()
        if os.path.exists(path):
            with open(path) as file:
                self._known = {json.loads(line)["test"] for line in file}
        self._file: TextIO = open(path, "a")  # noqa: SIM115
        self._outcome: dict[str, str] = {}

    def _tell(self, **line: str) -> None:
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        left = [item for item in items if item.nodeid not in self._known]
        config.hook.pytest_deselected(items=[i for i in items if i.nodeid in self._known])
        items[:] = left

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self._tell(test=report.nodeid, outcome="failed", error=_last_lines(report.longrepr))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self._outcome = {}
        self._tell(test=item.nodeid, outcome="begun", error="")
        _seed()
        faulthandler.dump_traceback_later(self._seconds, exit=True, file=sys.__stderr__)
        try:
            result = yield
        finally:
            faulthandler.cancel_dump_traceback_later()
        self._tell(test=item.nodeid, **(self._outcome or {"outcome": "failed", "error": "no end"}))
        return result

    def pytest_runtest_logreport(self, report: Any) -> None:
        if hasattr(report, "wasxfail"):
            outcome = "expected failure" if report.skipped else "passed"
        elif report.when != "call" and report.passed:
            return
        else:
            outcome = report.outcome
        worst = self._outcome.get("outcome", _ORDER[0])
        if _ORDER.index(outcome) >= _ORDER.index(worst):
            self._outcome = {"outcome": outcome, "error": _last_lines(report.longrepr)}


def _seed() -> None:
    random.seed(0)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(0)
    if torch := sys.modules.get("torch"):
        torch.manual_seed(0)


def _last_lines(representation: Any) -> str:
    """What pytest marks as the error itself, which may have several lines."""
    if isinstance(representation, tuple):  # a skip: file, line, reason
        return str(representation[2])
    lines = str(representation or "").splitlines()
    told = [line[1:].strip() for line in lines if line.startswith("E ")]
    return " ".join(told or lines[-1:])[:2000]


def pytest_configure(config: Any) -> None:
    if path := os.environ.get(_RESULTS):
        config.pluginmanager.register(Recorder(path, float(os.environ.get(_SECONDS, "300"))))
