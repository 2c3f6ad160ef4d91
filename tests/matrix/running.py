"""One pair: its environment and its run of the tests."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from .outcomes import Outcome, read_junit
from .pairs import Pair

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "matrix"
WHOLE = ("tests/device", "tests/mac", "tests/shader", "tests/cli")
# Quick ones, where releases of torch and of Python differ most: gradients, Dynamo, the profiler,
# the tables read from torch, memory, determinism alerts, shaders with their processes and signals.
SMALL = (
    "tests/device/autograd/test_autograd.py",
    "tests/device/graphs/test_compile.py",
    "tests/device/memory/test_pools.py",
    "tests/device/autograd/test_optimizers.py",
    "tests/device/profiler/test_profiler.py",
    "tests/mac/test_determinism.py",
    "tests/mac/test_missing_operators.py",
    "tests/shader/test_running.py",
    "tests/cli/test_run.py",
)
LONGEST_S = 5400  # of one run of the tests


# What pip says where the network or the index is to blame.
_AWAY = re.compile(r"connection|timed out|HTTP error|max retries|name resolution", re.I)


class NotMade(Exception):
    """Why a pair has no environment. `away`: nothing of ours, the package index is slow or away."""

    def __init__(self, why: str, *, away: bool) -> None:
        super().__init__(why)
        self.away = away


def run_pair(
    pair: Pair, interpreter: str, *, suite: str, workers: int, keep: bool, install_s: float | None
) -> Outcome:
    """Raises NotMade if there is no environment for it (within `install_s`)."""
    outcome = Outcome(pair.torch, pair.python, suite=suite)
    venv = FOLDER / f"python{pair.python}-torch{pair.torch}"
    begin = time.monotonic()
    try:
        outcome.build = _install(pair, interpreter, venv, install_s)
        outcome.problem = _test(venv, WHOLE if suite == "whole" else SMALL, workers)
        if not outcome.problem:
            read_junit(_beside(venv, ".xml"), outcome)
    finally:
        if not keep:
            shutil.rmtree(venv, ignore_errors=True)
    outcome.seconds = round(time.monotonic() - begin)
    return outcome


def _install(pair: Pair, interpreter: str, venv: Path, limit: float | None) -> str:
    """Makes the environment and answers with its build of torch: cpu, or cu130."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    end = None if limit is None else time.monotonic() + limit
    python = str(venv / "bin" / "python")
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    # No time is spent on compiling what is never imported.
    pip += ["--no-compile", f"torch=={pair.torch}", "--editable", f"{ROOT}[test]"]
    build = "import torch; cuda = torch.version.cuda; print('cu' + cuda if cuda else 'cpu')"
    steps = [pip, [python, "-c", build]]
    if not venv.exists():
        steps.insert(0, [interpreter, "-m", "venv", str(venv)])
    said = ""
    for step in steps:
        log = _beside(venv, ".install.log")
        left = None if end is None else max(1.0, end - time.monotonic())
        status = _run(step, log, dict(os.environ), left)
        text = log.read_text().strip()
        said = text.splitlines()[-1] if text else ""
        if status is None:
            raise NotMade(f"its environment was not there after {limit:.0f} s", away=True)
        if status != 0:
            why = f"its environment cannot be made: {said or f'status {status}'}"
            raise NotMade(why, away=bool(_AWAY.search(text)))
    return said.replace(".", "")


def _test(venv: Path, suites: tuple[str, ...], workers: int) -> str:
    """Leaves a junit file beside the environment; answers with why there is none."""
    report, log = _beside(venv, ".xml"), _beside(venv, ".log")
    report.unlink(missing_ok=True)
    command = [str(venv / "bin" / "python"), "-m", "pytest", "-q", f"--junitxml={report}"]
    command += ["--numprocesses", str(workers), "--dist", "loadfile", *suites]
    environment = {
        key: text
        for key, text in os.environ.items()
        if not key.startswith("OPENMPS_") or key == "OPENMPS_CXX"
    }
    # Or every process would compile torch's Python again; what is kept goes with the environment.
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    environment |= {
        "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "OMP_NUM_THREADS": "1",
        "OMP_WAIT_POLICY": "passive",
        "OPENMPS_ENGINE": "cpu",
        "OPENMPS_CACHE_DIR": str(venv / "openmps-cache"),  # what is built goes with the environment
    }
    status = _run(command, log, environment, LONGEST_S)
    if status is None:
        return f"the tests took longer than {LONGEST_S} s"
    if not report.exists():
        return f"pytest: {(log.read_text().strip().splitlines() or [f'status {status}'])[-1]}"
    return ""


def _run(
    command: list[str], log: Path, environment: dict[str, str], limit: float | None
) -> int | None:
    """The exit status; None if it took too long. What it started ends with it."""
    with open(log, "w") as file:
        process = subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=file, stderr=file, start_new_session=True
        )
        try:
            return process.wait(limit)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _beside(venv: Path, ending: str) -> Path:
    return venv.with_name(venv.name + ending)
