"""Reports made of ledgers: figures that a real program reaches only on a large machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openmps.cli.check_report import FAILURES, NO_LINE, SCHEMA, make_report
from openmps.mac.chips import parse_mac

GIB = 1 << 30
M1 = parse_mac("M1 8GB", "26.0")  # 5.92 GiB recommended, 10.06 GiB at most, buffers below 4.44 GiB


def ledger(**more: Any) -> dict[str, Any]:
    return {
        "engine": "cpu",
        "error": "",
        "ns": 10**9,
        "lines": [("a.py", "f", 1), ("b.py", "g", 2)],
        "events": [],
        "memory": [],
        "held": [],
        "peak_live": 0,
        "peak_reserved": 0,
        "peak_line": 0,
        **more,
    }


def memory_of(*ledgers: dict[str, Any]) -> dict[str, Any]:
    memory: dict[str, Any] = make_report(["a.py"], 0, list(ledgers), M1, [])["memory"]
    return memory


@pytest.mark.parametrize(
    ("live", "reserved", "fits", "certain", "comfortably"),
    [
        (5, 6, True, True, True),
        (5, 11, True, False, True),  # it keeps what a Mac would have given back
        (9, 10, True, True, False),
        (11, 12, False, True, False),
    ],
)
def test_three_grades_of_fitting(
    live: int, reserved: int, fits: bool, certain: bool, comfortably: bool
) -> None:
    chosen = memory_of(ledger(peak_live=live * GIB, peak_reserved=reserved * GIB))["chosen"]
    assert (chosen["fits"], chosen["certain"], chosen["comfortably"]) == (
        fits,
        certain,
        comfortably,
    )


def test_one_buffer_can_be_too_large() -> None:
    small = ledger(peak_live=5 * GIB, held=[(1, 5 * GIB, 4 * GIB)])
    large = ledger(peak_live=5 * GIB, held=[(1, 5 * GIB, 5 * GIB)])
    assert memory_of(small)["chosen"]["fits"]
    assert not memory_of(large)["chosen"]["fits"]
    assert memory_of(large)["fits"] == "fits M1 16GB and up"


def test_too_much_for_all() -> None:
    assert memory_of(ledger(peak_live=2000 * GIB))["fits"] == "fits no Mac"


def test_the_process_that_took_most_counts() -> None:
    memory = memory_of(ledger(peak_live=GIB), ledger(peak_live=3 * GIB, peak_line=2))
    assert memory["peak_bytes"] == 3 * GIB
    assert memory["peak_reached_at"] == {"file": "b.py", "line": 2, "function": "g"}


def test_processes_are_summed_up_and_the_most_costly_comes_first() -> None:
    one = ledger(
        events=[
            ("native", "aten::add.Tensor", "", 1, 2, 0, 10),
            ("native", "aten::mm", "", 2, 1, 0, 500),
        ]
    )
    two = ledger(events=[("native", "aten::add.Tensor", "", 0, 3, 0, 90)])
    operators = make_report(["a.py"], 0, [one, two], M1, [])["operators"]
    assert [(o["name"], o["count"]) for o in operators] == [
        ("aten::mm", 1),
        ("aten::add.Tensor", 5),
    ]
    assert [(p["file"], p["count"]) for p in operators[1]["lines"]] == [(NO_LINE, 3), ("a.py", 2)]


@pytest.mark.parametrize("name", ["float64", "refused", "missing", "fallback", "limits", "sync"])
def test_fail_on_finds_its_own(name: str) -> None:
    kind = {"limits": "limit"}.get(name, name)
    with_it = ledger(events=[(kind, "x", "", 1, 1, 0, 0)])
    assert make_report(["a.py"], 0, [with_it], M1, [name])["failed_on"] == [name]
    assert make_report(["a.py"], 0, [ledger()], M1, [name])["failed_on"] == []


def test_the_docs_name_every_key_and_every_failure() -> None:
    docs = (Path(__file__).parents[2] / "docs" / "check.md").read_text()
    report = make_report(["a.py"], 0, [ledger()], M1, [])
    keys = {*report, *report["memory"], *report["ended"], *report["verdict"], *FAILURES}
    assert {key for key in keys if f"`{key}`" not in docs} == set()
    assert f"`{SCHEMA}`" in docs
