"""A junit file is read, outcomes are kept, and the table is made of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from .outcomes import Outcome, load, merge, read_junit, save
from .table import BEGIN, END, table, write

JUNIT = """<?xml version="1.0" encoding="utf-8"?>
<testsuites name="pytest tests"><testsuite name="pytest">
<testcase classname="tests.device.test_a" name="test_good[x]" time="0.1"/>
<testcase classname="tests.device.test_a" name="test_bad[1]"><failure message="1 != 2"/></testcase>
<testcase classname="tests.device.test_b" name="test_twice"><failure message="no"/></testcase>
<testcase classname="tests.device.test_b" name="test_twice"><error message="nor after"/></testcase>
<testcase classname="tests.mac.test_c" name="test_1">
  <skipped message="torch 2.11.0+cpu has no mps kernel for aten::histc"/></testcase>
<testcase classname="tests.mac.test_c" name="test_2">
  <skipped type="pytest.skip" message="torch 2.11.0 has no mps kernel for aten::histc"/></testcase>
<testcase classname="tests.mac.test_c" name="test_3">
  <skipped type="pytest.skip" message="Dynamo of torch 2.11 knows no Python 3.14"/></testcase>
<testcase classname="tests.mac.test_c" name="test_4">
  <skipped type="pytest.skip" message="the CUDA engine's alone: 2 of these"/></testcase>
<testcase classname="tests.mac.test_c" name="test_5">
  <skipped type="pytest.xfail" message="torch 2.11.0 is expected to fail"/></testcase>
</testsuite></testsuites>
"""


def test_a_junit_file(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(JUNIT)
    outcome = Outcome("2.11.0", "3.12", "cu126")
    read_junit(tmp_path / "a.xml", outcome)
    assert (outcome.passed, outcome.skipped) == (2, 4)
    assert outcome.failed == ["tests/device/test_a::test_bad[1]", "tests/device/test_b::test_twice"]
    assert outcome.differs == {
        "has no mps kernel for aten::histc": 2,
        "Dynamo of torch 2.11 knows no Python 3.14": 1,
    }
    assert not outcome.good


def whole(torch: str = "2.15.0", python: str = "3.12", **facts: object) -> Outcome:
    return Outcome(torch, python, **{"build": "cu132", "passed": 5, **facts})  # type: ignore[arg-type]


def test_what_is_known_is_kept_and_sorted() -> None:
    known = [whole("2.15.0"), whole("2.9.0", "3.12")]
    merged = merge(known, [whole("2.15.0", "3.9"), whole("2.15.0", build="cpu")])
    assert [(each.torch, each.python, each.build) for each in merged] == [
        ("2.9.0", "3.12", "cu132"),
        ("2.15.0", "3.9", "cu132"),
        ("2.15.0", "3.12", "cpu"),
        ("2.15.0", "3.12", "cu132"),
    ]


@pytest.mark.parametrize(
    ("before", "after", "kept"),
    [
        (whole(), whole(suite="small"), "before"),
        (whole(suite="small"), whole(), "after"),
        (whole(), whole(passed=6), "after"),
        (whole(problem="the tests took too long"), whole(suite="small"), "after"),
        (whole(), Outcome("2.15.0", "3.12", problem="no such Python"), "before"),
        (Outcome("2.15.0", "3.12", problem="no such Python"), whole(suite="small"), "after"),
    ],
)
def test_a_run_that_says_less_replaces_none(before: Outcome, after: Outcome, kept: str) -> None:
    assert merge([before], [after]) == [before if kept == "before" else after]


def test_outcomes_lie_in_a_file(tmp_path: Path) -> None:
    outcomes = [whole(failed=["tests/a::b"], differs={"has none": 3}), whole("2.11.0")]
    save(outcomes, tmp_path / "outcomes.json")
    assert load(tmp_path / "outcomes.json") == outcomes
    assert load(tmp_path / "none.json") == []


KERNELS = {
    "has no mps kernel for b": 1,
    "has no mps kernel for c, a": 2,
    "has no mps kernel for c": 4,
}
OUTCOMES = [
    whole("2.11.0", "3.10", skipped=3, differs={"lacks b": 1, **KERNELS}),
    whole("2.11.0", "3.11", suite="small", failed=["tests/x::y"], differs={"lacks b": 4}),
    Outcome("2.11.0", "3.15", problem="torch has no wheel for it"),
    whole("2.15.0", "3.11"),
]
TABLE = """\
| torch | build | Python | tests | passed | skipped | failed |
| --- | --- | --- | --- | --- | --- | --- |
| 2.11.0 | cu132 | 3.10 | whole | 5 | 3 | 0 |
| 2.11.0 | cu132 | 3.11 | small | 5 | 0 | 1 |
| 2.11.0 |  | 3.15 | not run: torch has no wheel for it |  |  |  |
| 2.15.0 | cu132 | 3.11 | whole | 5 | 0 | 0 |

What differs, by the tests that a release skips (and how many they are):

- torch 2.11.0
    - has no mps kernel for `a`, `b`, `c` (7)
    - lacks b (4)

- torch 2.11.0 with Python 3.11 fails `tests/x::y`"""


def test_the_table() -> None:
    assert table(OUTCOMES) == TABLE


def test_only_the_table_of_the_page_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{BEGIN}\nold\n{END}\n\nafter\n")
    write(OUTCOMES, page)
    write(OUTCOMES, page)
    assert page.read_text() == f"# Title\n\n{BEGIN}\n\n{TABLE}\n\n{END}\n\nafter\n"


def test_a_page_without_a_place_for_it(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# Title\n")
    with pytest.raises(ValueError, match="has no place for the table"):
        write(OUTCOMES, page)
