"""Runs a project's suite on one device: again behind each test that ends the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from openmps.errors import OpenmpsError

from .projects import Project

_TESTS = Path(__file__).resolve().parents[1]
_SOURCE = _TESTS.parent / "src"
# As pytest and the shell number them: all passed, some failed, interrupted.
_WHOLE = (0, 1)
_INTERRUPTED = 2
_NOTHING_TO_RUN = 5


@dataclass(frozen=True)
class Outcome:
    """what: passed, failed, skipped, expected failure, or crashed."""

    what: str
    error: str = ""


@dataclass(frozen=True)
class Run:
    project: Project
    checkout: Path
    python: Path
    chosen: Sequence[str]  # arguments of pytest; none for all of the project's tests
    seconds: float  # that a test may take

    def on(self, device: str, results: Path) -> dict[str, Outcome]:
        """By the test's name. What `results` tells already is not run again."""
        results.parent.mkdir(parents=True, exist_ok=True)
        while True:
            begun = outcomes(results)
            status = self._once(device, results)
            told = outcomes(results)
            cut_short = [name for name, outcome in told.items() if outcome.what == "begun"]
            if status in (*_WHOLE, _NOTHING_TO_RUN) and not cut_short:
                return told
            if status == _INTERRUPTED and not cut_short and told != begun:
                continue  # a file that cannot be imported ends pytest's collection, once
            if not cut_short:
                raise OpenmpsError(
                    f"the suite of {self.project.name} did not run on {device}",
                    found=f"pytest ended with status {status}",
                    next_step=f"read {_log(results)}; its tests need {self._needs()}",
                )
            with results.open("a") as file:
                for name in cut_short:
                    ending = f"the process ended with status {status}"
                    line = {"test": name, "outcome": "crashed", "error": ending}
                    file.write(json.dumps(line) + "\n")

    def _once(self, device: str, results: Path) -> int:
        arguments = [argument.format(device=device) for argument in self.project.arguments]
        command = [str(self.python), "-m", "pytest", "-p", "downstream.recording"]
        command += ["-p", "no:cacheprovider", "--continue-on-collection-errors", "-q", "--tb=short"]
        command += ["--no-header", "-W", "ignore", *arguments]
        command += self.chosen or self.project.tests
        print(f"{device}: {self.checkout.name}", file=sys.stderr, flush=True)
        environment = self._environment(device, results)
        with _log(results).open("a") as log:
            return subprocess.run(
                command,
                cwd=self.checkout,
                env=environment,
                stdout=log,
                stderr=log,
                check=False,
            ).returncode

    def _environment(self, device: str, results: Path) -> Mapping[str, str]:
        path = [str(self.checkout), str(_SOURCE), str(_TESTS), os.environ.get("PYTHONPATH", "")]
        return {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, path)),
            "OPENMPS": "1" if device == "mps" else "0",
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
            "OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "passive"),
            "OPENMPS_DOWNSTREAM_RESULTS": str(results),
            "OPENMPS_DOWNSTREAM_SECONDS": str(self.seconds),
        }

    def _needs(self) -> str:
        return ", ".join(("torch", "pytest", *self.project.needs))


def _log(results: Path) -> Path:
    return results.with_suffix(".log")


def outcomes(results: Path) -> dict[str, Outcome]:
    """Of a test's lines the last one counts."""
    if not results.exists():
        return {}
    lines = (json.loads(line) for line in results.read_text().splitlines())
    return {line["test"]: Outcome(line["outcome"], line["error"]) for line in lines}
