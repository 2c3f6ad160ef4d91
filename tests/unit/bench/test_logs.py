"""What scripts/gpu says of a folder of test logs, and how it parts a file."""

from __future__ import annotations

import pytest

from .loading import load

logs = load("tests/logs.py")
shard = load("tests/plugins/shard_of_file.py")

GOOD = "....s\n4 passed, 1 skipped in 2.10s\nexit status 0\n"
BAD = """..F
=========================== short test summary info ============================
FAILED tests/device/test_x.py::test_y - assert 1 == 2
1 failed, 2 passed in 0.30s
exit status 1
"""
DEAD = "..\nFatal Python error: Segmentation fault\nexit status 139\n"
EMPTY = "1 deselected in 0.01s\nexit status 5\n"


def test_a_good_file_is_counted_and_not_named() -> None:
    assert logs.report([logs.read("cuda-x", GOOD), logs.read("cuda-y", EMPTY)]) == [
        "tests on cuda: 4 passed, 1 skipped"
    ]


def test_failing_tests_and_dead_files_are_named() -> None:
    read = [logs.read("cpu-x", BAD), logs.read("cuda-x", GOOD), logs.read("cuda-y", DEAD)]
    assert logs.report(read) == [
        "-- cpu-x",
        "FAILED tests/device/test_x.py::test_y - assert 1 == 2",
        "-- cuda-y",
        "   | ..",
        "   | Fatal Python error: Segmentation fault",
        "   | exit status 139",
        "tests on cpu: 1 failed, 2 passed",
        "tests on cuda: 1 file died, 4 passed, 1 skipped",
    ]
    assert [log.good for log in read] == [False, True, False]


@pytest.mark.parametrize("text", ["", "no status\n", "1 passed in 0.1s\nexit status 124\n"])
def test_a_file_that_did_not_end_by_itself_is_not_good(text: str) -> None:
    log = logs.read("cuda-x", text)
    assert log.good is False


def test_shards_are_all_of_the_file_once() -> None:
    items = list(range(10))
    parts = [shard.part(items, f"{number}/4") for number in (1, 2, 3, 4)]
    assert sorted(item for mine, _ in parts for item in mine) == items
    assert parts[1] == ([1, 5, 9], [0, 2, 3, 4, 6, 7, 8])


@pytest.mark.parametrize("wrong", ["0/4", "5/4"])
def test_a_shard_that_does_not_exist_is_refused(wrong: str) -> None:
    with pytest.raises(pytest.UsageError, match="it must be like 2/4"):
        shard.part([1], wrong)
