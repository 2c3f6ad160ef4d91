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

from . import glue, record, versions
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
    version: str = ""
    did: record.Record = record.NOTHING

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
        why = _run(case, checkouts, work, variables, seconds)
    except subprocess.TimeoutExpired:
        why = f"still running after {seconds:g} s"
    except Exception as error:  # a fixture that cannot be written is this case's alone
        why = f"{type(error).__name__}: {error}"
    return Outcome(
        case.name,
        "failed" if why else "passed",
        why,
        time.monotonic() - began,
        _version(case, checkouts),
        record.read(_record_folder(work)),
    )


def _version(case: Case, checkouts: Path) -> str:
    if case.checkout:
        return versions.of_checkout(checkouts / case.checkout)
    if case.source and (checkouts / case.source).is_dir():
        return versions.of_checkout(checkouts / case.source) or "checkout"
    return versions.of_package(case.package)


def _file(case: Case, checkouts: Path) -> Path:
    return checkouts / case.checkout / case.part / case.file


def _record_folder(work: Path) -> Path:
    return work / "record"


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


def _copy_source(case: Case, checkouts: Path, work: Path) -> list[str]:
    """The library's own checkout, if there is one, to be imported instead of what pip installed."""
    package = checkouts / case.source / case.source
    if not case.source or not package.is_dir():
        return []
    shutil.copytree(package, work / "source" / case.source)
    return [str(work / "source")]


def _run(case: Case, checkouts: Path, work: Path, variables: dict[str, str], seconds: float) -> str:
    """Why it failed; empty if it did not."""
    copy = _copy(case, checkouts, work)
    case.prepare(work)
    inside = copy if case.in_copy else work
    paths = [*_copy_source(case, checkouts, work), str(inside)]
    environment = _environment(work, paths) | variables
    _record_folder(work).mkdir()

    def python(command: str, **more: str) -> subprocess.CompletedProcess[str]:
        with (work / "log.txt").open("a") as log:
            done = subprocess.run(
                [sys.executable, *command.format(copy=copy, work=work).split()],
                cwd=inside,
                env={**environment, **more},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=seconds,
            )
            log.write(done.stdout)
        return done

    printed = ""
    for command in case.commands:
        done = python(command, OPENMPS_RECORD=str(_record_folder(work)))
        if done.returncode != 0:
            last = (done.stdout.strip() or "nothing was printed").splitlines()[-1]
            return f"exit status {done.returncode}: {last}"
        printed += done.stdout
    for expected in case.prints:
        if not re.search(expected, printed, re.MULTILINE):
            return f"did not print {expected}"
    if case.uses_mps and not record.read(_record_folder(work)).operators:
        return "ran nothing on mps"
    if case.on_cpu:
        there = python(f"{case.commands[-1]} {case.on_cpu}")
        return _difference(case.same, printed, there.stdout)
    return ""


def _difference(pattern: str, here: str, there: str) -> str:
    found, expected = re.search(pattern, here), re.search(pattern, there)
    if found is None or expected is None:
        return f"did not print {pattern} on both devices"
    a, b = float(found[1]), float(expected[1])
    return "" if abs(a - b) <= _TOLERANCE * abs(b) else f"{a} on mps, {b} on the CPU"


def _environment(work: Path, paths: list[str]) -> dict[str, str]:
    return {
        **os.environ,
        **glue.environment(work),
        "PYTHONPATH": os.pathsep.join([str(HERE / "site"), str(_SOURCE), *paths]),
        "OPENMPS": "1",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "YOLO_OFFLINE": "1",
        "YOLO_CONFIG_DIR": str(work),
        "MPLCONFIGDIR": str(work),
        "TORCHINDUCTOR_CACHE_DIR": str(work / "inductor"),
    }
