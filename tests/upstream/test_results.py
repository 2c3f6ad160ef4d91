from __future__ import annotations

import json
from pathlib import Path

import pytest

from .results import Outcome, Result, ResultsFile, ResultsUnusable

CONDITIONS = {"torch": "2.13.0", "mac": "M4 16GB, macOS 15.5"}
PASSED = Result("TestA.test_a", Outcome.PASSED, "", 0.5, 700, "add", "float32", "abc")
FAILED = Result("TestA.test_a", Outcome.FAILED, "ValueError: no")


def file_with(path: Path, *results: Result, fresh: bool = False) -> dict[str, Result]:
    """All that the file holds then."""
    kept = ResultsFile(path, CONDITIONS, fresh=fresh)
    for result in results:
        kept.add(result)
    kept.close()
    return kept.results


def test_results_come_back_and_the_last_of_a_case_counts(tmp_path: Path) -> None:
    file_with(tmp_path / "new" / "r.jsonl", FAILED, PASSED)
    assert file_with(tmp_path / "new" / "r.jsonl") == {"TestA.test_a": PASSED}


def test_each_result_is_on_disk_at_once(tmp_path: Path) -> None:
    kept = ResultsFile(tmp_path / "r.jsonl", CONDITIONS, fresh=False)
    kept.add(PASSED)
    line = (tmp_path / "r.jsonl").read_text().splitlines()[-1]
    assert json.loads(line)["outcome"] == "passed"
    kept.close()


def test_fresh_forgets(tmp_path: Path) -> None:
    file_with(tmp_path / "r.jsonl", PASSED)
    assert file_with(tmp_path / "r.jsonl", fresh=True) == {}


def test_a_torn_last_line_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    file_with(path, PASSED)
    path.write_text(path.read_text() + '{"name": "TestA.te')
    file_with(path, Result("TestA.test_b", Outcome.HUNG))
    assert list(file_with(path)) == ["TestA.test_a", "TestA.test_b"]


def test_results_of_another_torch_are_not_mixed_in(tmp_path: Path) -> None:
    file_with(tmp_path / "r.jsonl", PASSED)
    with pytest.raises(ResultsUnusable) as caught:
        ResultsFile(tmp_path / "r.jsonl", {**CONDITIONS, "torch": "2.15.0"}, fresh=False)
    assert caught.value.found == "torch: 2.13.0, now 2.15.0"


@pytest.mark.parametrize("text", ["\n", "hello\n", '{"a": 1}\n', '{"conditions": {}}\n{"x": 1}\n'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.jsonl").write_text(text)
    with pytest.raises(ResultsUnusable, match="holds no results of this script"):
        ResultsFile(tmp_path / "r.jsonl", CONDITIONS, fresh=False)
    assert (tmp_path / "r.jsonl").read_text() == text
