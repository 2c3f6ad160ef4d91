from __future__ import annotations

from dataclasses import replace

import pytest

from .report import REQUIRED_SHARE, as_json, differences, good_enough, table, tally
from .results import Outcome, Result
from .verdicts import cause, verdict


def result(outcome: Outcome, error: str = "", name: str = "TestA.test_a") -> Result:
    return Result(name, outcome, error)


@pytest.mark.parametrize(
    ("outcome", "error", "expected"),
    [
        (Outcome.PASSED, "", "agree"),
        (Outcome.EXPECTED_FAILURE, "RuntimeError: no", "agree"),
        (Outcome.FAILED, "AssertionError", "differ"),
        (Outcome.UNEXPECTED_SUCCESS, "", "differ"),
        (Outcome.CRASHED, "SIGABRT", "differ"),
        (Outcome.HUNG, "over 300 s", "differ"),
        (Outcome.MEMORY, "took 30 GiB", "listed"),
        (Outcome.FAILED, "AttributeError: module 'torch' has no attribute 'new'", "listed"),
        (Outcome.FAILED, "Exception: module 'torch' has no attribute 'new'", "listed"),
        (Outcome.FAILED, "RuntimeError: Invalid buffer size: 8.25 GiB", "listed"),
        (Outcome.SKIPPED, "k only applies to topk", "agree"),
        (Outcome.SKIPPED, "Only runs on cuda", "agree"),
        (Outcome.SKIPPED, "Needs at least 16Gb of RAM", "listed"),
        (Outcome.SKIPPED, "no shared storage", "listed"),
    ],
)
def test_verdicts(outcome: Outcome, error: str, expected: str) -> None:
    assert verdict(result(outcome, error)).value == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("Skipped!", "agree"),
        ("", "agree"),
        ("no shared storage", "agree"),
        ("Need >8 GB buffer", "listed"),
        ("Set MTL_CAPTURE_ENABLED and try again", "listed"),
        ("test is slow", "listed"),
        ("scipy not found", "listed"),
    ],
)
def test_skips_by_decorators_are_those_of_a_mac(error: str, expected: str) -> None:
    skip = Result("TestA.test_a", Outcome.SKIPPED, error, marked=True)
    assert verdict(skip).value == expected


def test_what_fails_on_a_mac_too_is_listed_where_nobody_says_what_it_does() -> None:
    name = "TestTorchDeviceTypeMPS.test_deepcopy_mps_float32"
    wrong = Result(name, Outcome.FAILED, "AssertionError: Scalars are not close!", unsaid=True)
    assert verdict(wrong).value == "listed"
    assert cause(wrong) == "Tensor.__deepcopy__ clones what is on mps"
    assert verdict(replace(wrong, unsaid=False)).value == "differ"
    assert verdict(replace(wrong, name="TestTorchMPS.test_deepcopy")).value == "differ"


def test_what_needs_an_operator_of_a_younger_torch_is_listed() -> None:
    missing = Result("TestA.test_a", Outcome.FAILED, "NotImplementedError: no", younger=True)
    assert verdict(missing).value == "listed"
    assert verdict(replace(missing, younger=False)).value == "differ"


@pytest.mark.parametrize(
    ("error", "late", "unsaid", "expected"),
    [
        ("RuntimeError: Undefined type Float8_e5m2", "", True, "listed"),
        ("RuntimeError: Undefined type Float8_e5m2", "", False, "differ"),
        ("TypeError: normal_kernel_mps not implemented for 'Long'", "", True, "listed"),
        ("Exception: linalg.lu_factor(): MPS only supports floats.", "", True, "listed"),
        ("Exception: linalg.lu_factor(): MPS only supports floats.", "", False, "differ"),
        ("AssertionError: IndexError not raised", "AcceleratorError: index 10", True, "listed"),
        ("AssertionError: IndexError not raised", "", True, "differ"),
        ("AssertionError: IndexError not raised", "AcceleratorError: index 10", False, "differ"),
    ],
)
def test_refusals_of_macs_are_listed_where_nobody_says_what_a_mac_does(
    error: str, late: str, unsaid: bool, expected: str
) -> None:
    failed = Result("TestA.test_a", Outcome.FAILED, error, unsaid=unsaid, late=late)
    assert verdict(failed).value == expected


def many(agreeing: int, differing: Outcome, count: int) -> list[Result]:
    return [result(Outcome.PASSED)] * agreeing + [result(differing)] * count


def test_ninety_nine_percent_are_enough_and_a_crash_is_not() -> None:
    assert REQUIRED_SHARE == 0.99
    assert good_enough(tally(many(99, Outcome.FAILED, 1))[1])
    assert not good_enough(tally(many(98, Outcome.FAILED, 1))[1])
    assert not good_enough(tally(many(999, Outcome.CRASHED, 1))[1])
    assert not good_enough(tally([])[1])


def test_percentages_are_not_rounded_up() -> None:
    assert tally(many(98999, Outcome.FAILED, 1001))[1].percent == "98.99"


def test_what_is_listed_does_not_count() -> None:
    assert tally(many(99, Outcome.MEMORY, 500))[1].percent == "100.00"


MIXED = [
    result(Outcome.UNEXPECTED_SUCCESS, name="TestB.test_z"),
    result(Outcome.PASSED, name="TestB.test_y"),
    result(Outcome.CRASHED, "SIGSEGV at\n x.py:1", name="TestA.test_x"),
    result(Outcome.SKIPPED, "needs RAM", name="TestA.test_w"),
]


def test_a_line_for_each_difference() -> None:
    assert differences(MIXED).splitlines() == [
        "differ  TestA.test_x: crashed: SIGSEGV at x.py:1",
        "differ  TestB.test_z: succeeds, where the suite expects a Mac to fail",
        "listed  TestA.test_w: skipped: needs RAM",
    ]


def test_table_and_json() -> None:
    rows = [line.split()[:6] for line in table(MIXED).splitlines()]
    assert rows[1:4] == [
        ["TestA", "2", "0", "1", "1", "0.00"],
        ["TestB", "2", "1", "1", "0", "50.00"],
        ["all", "4", "1", "2", "1", "33.33"],
    ]
    told = as_json(MIXED, {"torch": "2.13.0"})
    assert told["classes"]["TestB"]["agree"] == 1  # type: ignore[index]
    assert [case["verdict"] for case in told["cases"]] == [  # type: ignore[attr-defined]
        "listed", "differ", "agree", "differ",
    ]  # fmt: skip
