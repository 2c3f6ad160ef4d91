"""Environments that cannot be had."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from . import running
from .pairs import Pair
from .running import NotMade, run_pair
from .test_pairs import program

PAIR = Pair("2.15.0", "3.12")


def run(interpreter: str, install_s: float | None) -> None:
    run_pair(PAIR, interpreter, suite="small", workers=1, keep=False, install_s=install_s)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "FOLDER", tmp_path / "matrix")
    return tmp_path / "matrix"


def test_one_that_takes_too_long_ends_with_all_that_it_started(tmp_path: Path) -> None:
    late = tmp_path / "late"
    slow = program(tmp_path, "python", f"(sleep 4; touch {late}) & sleep 60")
    begin = time.monotonic()
    with pytest.raises(NotMade, match="its environment was not there after 0 s") as told:
        run(slow, 0.3)
    assert told.value.away
    assert time.monotonic() - begin < 30
    time.sleep(max(0.0, begin + 5 - time.monotonic()))
    assert not late.exists()


def test_one_that_fails_says_why_and_leaves_nothing(tmp_path: Path, folder: Path) -> None:
    text = 'mkdir -p "$3"; echo a line; echo "no module named venv" >&2; exit 1'
    with pytest.raises(NotMade, match=r"cannot be made: no module named venv$") as told:
        run(program(tmp_path, "python", text), None)
    assert not told.value.away
    assert [file.name for file in folder.iterdir()] == ["python3.12-torch2.15.0.install.log"]


@pytest.mark.parametrize(
    ("said", "away"),
    [
        ("ERROR: HTTP error 502 while getting torch", True),
        ("WARNING: Retrying: ReadTimeoutError: Read timed out.\nERROR: no torch", True),
        ("ERROR: ResolutionImpossible: for help see the pages of pip", False),
    ],
)
def test_an_index_that_is_away_is_no_conflict(tmp_path: Path, said: str, away: bool) -> None:
    """An environment with a pip that fails."""
    program(tmp_path / "bin", "pip", f"echo '{said}' >&2; exit 1")
    make = f'mkdir -p "$3/bin"; cp {tmp_path}/bin/pip "$3/bin/python"'
    with pytest.raises(NotMade) as told:
        run(program(tmp_path, "python", make), 60)
    assert told.value.away == away
