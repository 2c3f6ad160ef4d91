"""A worker process as its parent sees it: watched, capped in time and memory, started again.

Memory is capped by watching the resident memory of the worker and its children, many times a
second, and not by a limit on address space: torch maps far more than it uses, and an allocation
that fails would look like a failed test.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from openmps.errors import OpenmpsError

from .cases import Case, describe
from .endings import frame_of, words_of
from .memory import resident_bytes
from .results import Outcome, Result

_LOOK_EVERY = 0.05
_GRACE = 2.0  # for a hanging worker to write its stack
_TESTS = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Suite:
    """file: what to test. logs: the folder for what workers print. macos: "" to pretend nothing."""

    file: Path
    logs: Path
    variables: Mapping[str, str]
    macos: str = ""
    seconds: float = 300.0
    seconds_to_load: float = 900.0


class SuiteUnusable(OpenmpsError):
    pass


class _Ended(Exception):
    """The worker is gone; the outcome says how."""

    def __init__(self, outcome: Outcome, error: str) -> None:
        super().__init__(error)
        self.outcome = outcome
        self.error = error


@dataclass
class Worker:
    suite: Suite
    number: int
    memory_bytes: int
    cases: list[Case] = field(default_factory=list)
    _process: subprocess.Popen[bytes] | None = None
    _questions: int = -1
    _answers: int = -1
    _unread: bytes = b""
    _scratch: tempfile.TemporaryDirectory[str] | None = None

    @property
    def log(self) -> Path:
        return self.suite.logs / f"worker-{self.number}.log"

    def load(self) -> list[Case]:
        """Starts it, unless it runs. All cases of the suite."""
        if self._process is None:
            answer = self._first_answer()
            if "refused" in answer:
                self.stop()
                self._refuse(str(answer["refused"]))
            ops = frozenset(answer["ops"])
            self.cases = [describe(name, ops) for name in answer["cases"]]
        return self.cases

    def run(self, case: Case) -> Result:
        self.load()
        began = time.monotonic()
        try:
            self._ask(case.name)
            answer = self._answer(self.suite.seconds + _GRACE)
        except _Ended as ended:
            took = round(time.monotonic() - began, 3)
            answer = {"outcome": ended.outcome, "error": ended.error, "seconds": took}
        outcome = Outcome(answer.pop("outcome"))
        return Result(case.name, outcome, op=case.op, dtype=case.dtype, **answer)

    def held_bytes(self) -> int:
        return 0 if self._process is None else resident_bytes(self._process.pid)

    def kill(self) -> None:
        """From any thread: the one that waits for the worker cleans up."""
        process = self._process
        if process is not None:
            # The whole session: tests start processes of their own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

    def stop(self) -> None:
        if self._process is None:
            return
        self.kill()
        self._process.wait()
        self._process = None
        os.close(self._questions)
        os.close(self._answers)
        if self._scratch is not None:
            self._scratch.cleanup()

    def _first_answer(self, attempts: int = 3) -> dict[str, Any]:
        """Again if it was killed: a machine that many share is out of memory for a moment."""
        self._start()
        try:
            return self._answer(self.suite.seconds_to_load)
        except _Ended as ended:
            if ended.outcome is not Outcome.MEMORY or attempts == 1:
                self._refuse(ended.error)
        return self._first_answer(attempts - 1)

    def _start(self) -> None:
        its_questions, self._questions = os.pipe()
        self._answers, its_answers = os.pipe()
        paths = [str(_TESTS), self.suite.variables.get("PYTHONPATH", "")]
        # What a killed test leaves behind, a half-built extension for one, must not meet the next.
        self._scratch = tempfile.TemporaryDirectory(
            ignore_cleanup_errors=True, prefix="openmps-upstream-"
        )
        variables = {
            **self.suite.variables,
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
            "TMPDIR": self._scratch.name,
            "TORCH_EXTENSIONS_DIR": self._scratch.name,
        }
        command = [sys.executable, "-m", f"{__package__.rpartition('.')[2]}.worker"]
        command += [str(self.suite.file), str(its_questions), str(its_answers)]
        command += [str(self.suite.seconds), *([self.suite.macos] if self.suite.macos else [])]
        # Appending: the worker empties the file before each case.
        with self.log.open("wb"), self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                env=variables,
                cwd=self.suite.logs,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(its_questions, its_answers),
                start_new_session=True,
            )
        os.close(its_questions)
        os.close(its_answers)
        self._unread = b""

    def _ask(self, name: str) -> None:
        try:
            os.write(self._questions, f"{name}\n".encode())
        except BrokenPipeError:  # it died between two cases
            raise self._how_it_ended() from None

    def _answer(self, seconds: float) -> dict[str, Any]:
        """The next line of the worker, or how it ended instead."""
        deadline = time.monotonic() + seconds
        assert self._process is not None
        peak = 0
        while b"\n" not in self._unread:
            ready, _, _ = select.select([self._answers], [], [], _LOOK_EVERY)
            if ready:
                some = os.read(self._answers, 1 << 16)
                if not some:
                    raise self._how_it_ended()
                self._unread += some
                continue
            peak = max(peak, resident_bytes(self._process.pid))
            if peak > self.memory_bytes:
                self.stop()
                used, cap = peak / (1 << 30), self.memory_bytes / (1 << 30)
                raise _Ended(Outcome.MEMORY, f"took {used:.1f} GiB, over the cap of {cap:.1f} GiB")
            if self._process.poll() is not None:
                raise self._how_it_ended()
            if time.monotonic() > deadline:
                self.stop()
                raise _Ended(Outcome.HUNG, f"over {seconds - _GRACE:g} s {frame_of(self._log())}")
        line, _, self._unread = self._unread.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _how_it_ended(self) -> _Ended:
        assert self._process is not None
        status = self._process.wait()
        self.stop()
        if status == -signal.SIGKILL:
            return _Ended(Outcome.MEMORY, "killed from outside: no memory was left")
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        log = self._log()
        return _Ended(Outcome.CRASHED, f"{how} {frame_of(log)} {words_of(log)}".strip())

    def _log(self) -> str:
        return self.log.read_text(errors="replace")

    def _refuse(self, error: str) -> NoReturn:
        raise SuiteUnusable(
            f"{self.suite.file} cannot be loaded",
            found=error,
            next_step=f"read {self.log}; the checkout must be of the installed torch's release",
        )
