"""The page that scripts/gpu makes of its logs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "logs.py"
GOOD = """\
..s.s                                                                    [100%]
=========================== short test summary info ============================
SKIPPED [2] tests/device/test_a.py:12: the CPU engine's alone: a card has none: of these
3 passed, 2 skipped in 1.20s
exit status 0
"""
FAILING = """\
=========================== short test summary info ============================
SKIPPED [1] tests/conftest.py:70: the CPU engine's alone: a card has none: of these
FAILED tests/device/test_b.py::test_it - assert 1 == 2
1 failed, 4 passed, 1 skipped in 0.90s
exit status 1
"""
CUT = """\
..
exit status 124
"""


def page(folder: Path, **logs: str) -> tuple[int, list[str]]:
    for name, text in logs.items():
        (folder / f"{name.replace('_', '-', 1)}.log").write_text(text)
    command = [sys.executable, PROGRAM, folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def test_skips_are_counted_by_their_reason(tmp_path: Path) -> None:
    status, lines = page(tmp_path, cuda_a=GOOD, cpu_a=GOOD)
    assert status == 0
    assert lines == [
        "   4 skipped: the CPU engine's alone: a card has none: of these",
        "tests on cpu: 3 passed, 2 skipped",
        "tests on cuda: 3 passed, 2 skipped",
    ]


def test_failures_and_files_that_died(tmp_path: Path) -> None:
    status, lines = page(tmp_path, cuda_b=FAILING, cuda_c=CUT)
    assert status == 1
    assert lines == [
        "   1 skipped: the CPU engine's alone: a card has none: of these",
        "-- cuda-b",
        "FAILED tests/device/test_b.py::test_it - assert 1 == 2",
        "-- cuda-c",
        "   | ..",
        "   | exit status 124",
        "tests on cuda: 1 failed, 1 file died, 4 passed, 1 skipped",
    ]


def test_no_logs_are_a_failure(tmp_path: Path) -> None:
    assert page(tmp_path) == (1, ["tests on no engine: nothing was run"])
