from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from .comparing import Compared, Verdict, compare, report, tally
from .running import Outcome

PASSED = Outcome("passed")
WRONG = Outcome("failed", "AssertionError: 1 != 2")
REFUSED = Outcome("failed", "RuntimeError: Undefined type Float8_e5m2")
ELSEWHERE = Outcome(
    "failed",
    "RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
    "mps:0 and cpu!",
)


@pytest.mark.parametrize(
    ("cpu", "mps", "expected"),
    [
        (PASSED, PASSED, Verdict.AGREES),
        (PASSED, WRONG, Verdict.DIFFERS),
        (PASSED, REFUSED, Verdict.REFUSED),
        (PASSED, ELSEWHERE, Verdict.REFUSED),
        (WRONG, WRONG, Verdict.BROKEN),
        (WRONG, PASSED, Verdict.AGREES),
        (WRONG, Outcome("crashed", "status -6"), Verdict.DIFFERS),
        (PASSED, Outcome("skipped", "not on mps"), Verdict.SKIPPED),
    ],
)
def test_verdicts(cpu: Outcome, mps: Outcome, expected: Verdict) -> None:
    (one,) = compare({"a.py::test_x[cpu-float32]": cpu}, {"a.py::test_x[mps-float32]": mps})
    assert one.verdict is expected


def test_a_test_that_one_device_lacks_is_told() -> None:
    one, other = compare({"a::x[cpu]": PASSED}, {"a::y[mps:0]": PASSED})
    assert (one.test, one.mps.what, one.verdict) == ("a::x[DEVICE]", "missing", Verdict.DIFFERS)
    assert (other.test, other.cpu.what) == ("a::y[DEVICE]", "missing")


def test_the_share_is_of_what_agrees_and_differs() -> None:
    compared = [Compared(str(n), Verdict.AGREES, PASSED, PASSED) for n in range(199)]
    compared.append(Compared("wrong", Verdict.DIFFERS, PASSED, WRONG))
    compared.append(Compared("refused", Verdict.REFUSED, PASSED, REFUSED))
    assert tally(compared).share == 0.995
    told = report(compared)
    assert "differ   wrong: AssertionError: 1 != 2" in told
    assert "199 agree, 1 differ, 1 refused" in told
    assert told.endswith("99.50 % agree")


SUITE = """
import os
import pytest
import torch

def test_fine(device):
    assert torch.ones(2, device=device).sum() == 2

def test_of_doubles(device):
    torch.ones(2, dtype=torch.float64, device=device)

def test_that_ends_the_process(device):
    if device == "mps":
        os.abort()

def test_behind_it(device):
    assert device in ("cpu", "mps")
"""
CONFTEST = """
def pytest_addoption(parser):
    parser.addoption("--device")

def pytest_generate_tests(metafunc):
    metafunc.parametrize("device", [metafunc.config.getoption("--device")])
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "kornia"
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test_things.py").write_text(SUITE)
    (folder / "conftest.py").write_text(CONFTEST)
    return folder


def run(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    tests = Path(__file__).parents[1]
    path = os.pathsep.join(
        [str(tests), str(tests.parent / "src"), os.environ.get("PYTHONPATH", "")]
    )
    return subprocess.run(
        [sys.executable, "-m", "downstream", *arguments, "--results", str(folder / "results")],
        env={**os.environ, "PYTHONPATH": path, "OPENMPS_ENGINE": "cpu"},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_suite_goes_on_behind_a_crash(checkout: Path, tmp_path: Path) -> None:
    done = run("kornia", str(checkout), folder=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "refused  tests/test_things.py::test_of_doubles[DEVICE]: TypeError" in done.stdout
    assert "test_that_ends_the_process[DEVICE]: the process ended with status -6" in done.stdout
    assert "4 tests: 2 agree, 1 differ, 1 refused" in done.stdout
    again = run("kornia", str(checkout), folder=tmp_path)
    assert again.stdout == done.stdout


def test_what_cannot_be_run_is_said(checkout: Path, tmp_path: Path) -> None:
    unknown = run("cornea", str(checkout), folder=tmp_path)
    assert (unknown.returncode, "name one of kornia" in unknown.stderr) == (2, True)
    absent = run("kornia", str(tmp_path / "nowhere"), folder=tmp_path)
    assert (absent.returncode, "name the folder that holds" in absent.stderr) == (2, True)
    (checkout / "conftest.py").write_text("import nothing_of_that_name")
    broken = run("kornia", str(checkout), folder=tmp_path)
    assert (broken.returncode, "did not run on cpu" in broken.stderr) == (2, True)
