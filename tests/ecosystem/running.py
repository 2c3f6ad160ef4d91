"""Runs one program as it is, with the device, and says whether it did what it must."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from . import glue
from .cases import HERE, Case

_SOURCE = HERE.parents[1] / "src"
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Outcome:
    case: str
    # "passed", "failed", or "missing": its checkout is not there.
    result: str
    why: str = ""
    seconds: float = 0.0

    @property
    def good(self) -> bool:
        return self.result == "passed"


def run_case(
    case: Case, checkouts: Path, work: Path, variables: dict[str, str], seconds: float
) -> Outcome:
    if case.checkout and not _file(case, checkouts).is_file():
        where = checkouts / case.checkout
        return Outcome(case.name, "missing", f"no {_file(case, checkouts)}: a checkout in {where}")
    began = time.monotonic()
    work.mkdir(parents=True)
    try:
        why = _run(case, _copy(case, checkouts, work), work, variables, seconds)
    except subprocess.TimeoutExpired:
        why = f"still running after {seconds:g} s"
    except Exception as error:  # a fixture that cannot be written is this case's alone
        why = f"{type(error).__name__}: {error}"
    result = "failed" if why else "passed"
    return Outcome(case.name, result, why, time.monotonic() - began)


def _file(case: Case, checkouts: Path) -> Path:
    return checkouts / case.checkout / case.part / case.file


def _copy(case: Case, checkouts: Path, work: Path) -> Path:
    """The part of the checkout, where the program may write; the checkout stays as it is."""
    if not case.checkout:
        return work
    part = checkouts / case.checkout / case.part
    copy = work / part.resolve().name
    if case.part == ".":
        copy = work / case.checkout
    shutil.copytree(part, copy, ignore=shutil.ignore_patterns(".git"))
    for before, after in case.sizes:
        text = (copy / case.file).read_text()
        if before not in text:
            raise ValueError(f"{case.file} has no {before}, which was to become {after}")
        (copy / case.file).write_text(text.replace(before, after))
    return copy


def _run(case: Case, copy: Path, work: Path, variables: dict[str, str], seconds: float) -> str:
    """Why it failed; empty if it did not."""
    case.prepare(work)
    inside = copy if case.in_copy else work
    environment = _environment(work, inside) | variables

    def python(command: str) -> subprocess.CompletedProcess[str]:
        with (work / "log.txt").open("a") as log:
            done = subprocess.run(
                [sys.executable, *command.format(copy=copy).split()],
                cwd=inside,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
            )
            log.write(done.stdout)
        return done

    for command in (case.first, case.command):
        if command:
            done = python(command)
            if done.returncode != 0:
                last = (done.stdout.strip() or "nothing was printed").splitlines()[-1]
                return f"exit status {done.returncode}: {last}"
    for expected in case.prints:
        if not re.search(expected, done.stdout, re.MULTILINE):
            return f"did not print {expected}"
    if case.on_cpu:
        there = python(f"{case.command} {case.on_cpu}")
        return _difference(case.same, done.stdout, there.stdout)
    return ""


def _difference(pattern: str, here: str, there: str) -> str:
    found, expected = re.search(pattern, here), re.search(pattern, there)
    if found is None or expected is None:
        return f"did not print {pattern} on both devices"
    a, b = float(found[1]), float(expected[1])
    return "" if abs(a - b) <= _TOLERANCE * abs(b) else f"{a} on mps, {b} on the CPU"


def _environment(work: Path, inside: Path) -> dict[str, str]:
    paths = [str(HERE / "site"), str(_SOURCE), str(inside)]
    return {
        **os.environ,
        **glue.environment(work),
        "PYTHONPATH": os.pathsep.join(paths),
        "OPENMPS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "YOLO_OFFLINE": "1",
        "YOLO_CONFIG_DIR": str(work),
        "MPLCONFIGDIR": str(work),
    }
