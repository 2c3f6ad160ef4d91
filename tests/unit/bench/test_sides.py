"""Two worker processes that take turns, without a GPU: a made-up case with made-up seconds."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from .loading import ROOT, load

sys.path.insert(0, str(ROOT / "bench"))  # as a script of bench/ sees its neighbours
try:
    sides = load("bench/sides.py")
    report = load("bench/gpu_report.py")
finally:
    sys.path.remove(str(ROOT / "bench"))

SCRIPT = f"""
import sys
sys.path.insert(0, {str(ROOT / "bench")!r})
from sides import serve

class Case:
    def __init__(self, name, device):
        print("a library prints this")
        if name == "broken":
            raise ValueError("no such case")
        self.name, self.turn = name, 0
    def warm_up(self):
        if self.name == "deadly":
            sys.exit(3)
        return 7.0
    def seconds(self, calls):
        self.turn += 1
        return self.turn / calls

serve("mps", Case)
"""


@pytest.fixture
def pair(tmp_path: Path):  # type: ignore[no-untyped-def]
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    both = [sides.Side(str(script), "mps", "cpu") for _ in range(2)]
    yield both
    for side in both:
        side.close()


def test_both_sides_measure_in_turn(pair) -> None:  # type: ignore[no-untyped-def]
    # The first call finds how many fill a round: 10 of 1 second each.
    result, figures = sides.compare_in_turn(*pair, "fine", round_s=10.0, rounds=3)
    assert figures == [7.0, 7.0]
    # Base was asked once more than the other; the first round is not counted.
    assert result.base == [0.3, 0.4, 0.5]
    assert result.other == [0.2, 0.3, 0.4]


def test_a_side_that_dies_is_named(pair) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(SystemExit, match=r"the process of mps ended with 3 before its answer"):
        sides.open_on(pair, "deadly")


def test_a_case_that_fails_leaves_both_sides_ready(pair) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(sides.CaseFailed, match=r"ValueError: no such case"):
        sides.compare_in_turn(*pair, "broken", round_s=1.0, rounds=1)
    sides.close_on(pair)
    assert sides.open_on(pair, "fine") == [7.0, 7.0]


def test_workers_see_no_settings_but_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENMPS", "1")
    monkeypatch.setenv("OPENMPS_STRICT", "0")
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    monkeypatch.setenv("OPENMPS_CACHE_DIR", "somewhere")
    found = {k: v for k, v in sides.environment("cpu").items() if k.startswith(("OPENMPS", "OMP_"))}
    assert found == {
        "OPENMPS_CACHE_DIR": "somewhere",
        "OPENMPS_ENGINE": "cpu",
        "OPENMPS_MAC": "M3 Ultra 512GB",
        "OMP_NUM_THREADS": str(sides.cores()),
    }
    assert sides.environment("cpu")["CUDA_VISIBLE_DEVICES"] == ""


def test_goals_are_met_or_missed_by_their_direction() -> None:
    def met(figure: float, at_most: bool) -> bool | None:
        return report.Row("x", 1, 1, "us", figure, 0.98, at_most).met

    assert [met(0.97, False), met(0.98, False), met(0.97, True), met(0.99, True)] == [
        False,
        True,
        True,
        False,
    ]
    assert report.Row("x", 1, 1, "us", 5.0).met is None
    assert report.Row.without_figures("x", 0.98).met is False


def test_rows_survive_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUT", str(tmp_path))
    rows = [report.Row("add", 5.1, 5.6, "us", 0.5, 0.6, at_most=True)]
    report.keep("gpu_x", "Title", rows)
    assert report.read(tmp_path / "gpu_x.json") == ("Title", rows)
    assert rows[0].line().split() == ["add", "5.1", "5.6", "us", "0.500", "<=", "0.6", "met"]
