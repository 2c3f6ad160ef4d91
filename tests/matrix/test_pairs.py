"""Which pairs there are, which of them get the whole suite, and where their Pythons lie."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from .pairs import NoIndex, NoSuchRelease, Pair, choose, interpreters, wheels, whole_ones

LISTED = {
    "3.10": ["2.14.1", "2.14.0", "2.11.0", "2.10.0"],
    "3.11": ["2.15.0", "2.14.1", "2.14.0", "2.11.0", "2.10.0"],
    "3.12": ["2.15.0", "2.14.1", "2.14.0", "2.11.0"],
}


def names(chosen: list[Pair]) -> list[str]:
    return [f"{pair.torch}/{pair.python}" for pair in chosen]


def test_every_release_with_every_python_the_newest_first() -> None:
    exist, without = choose(LISTED, [])
    assert names(exist) == [
        "2.15.0/3.12", "2.15.0/3.11",
        "2.14.1/3.12", "2.14.1/3.11", "2.14.1/3.10",
        "2.11.0/3.12", "2.11.0/3.11", "2.11.0/3.10",
    ]  # fmt: skip
    assert names(without) == ["2.15.0/3.10"]


@pytest.mark.parametrize(
    ("asked", "torch"),
    [("newest", "2.15.0"), ("2.14", "2.14.1"), ("2.14.0", "2.14.0"), ("2.10.0", "2.10.0")],
)
def test_a_release_by_its_name(asked: str, torch: str) -> None:
    exist, _ = choose(LISTED, [asked])
    assert {pair.torch for pair in exist} == {torch}


def test_the_tenth_patch_is_newer_than_the_ninth() -> None:
    exist, _ = choose({"3.12": ["2.16.9", "2.16.10"]}, [])
    assert names(exist) == ["2.16.10/3.12"]


def test_a_release_that_is_not_there() -> None:
    with pytest.raises(
        NoSuchRelease, match=r"no torch 2\.1; there are 2\.15\.0, 2\.14\.1, 2\.11\.0"
    ):
        choose(LISTED, ["2.1"])


def test_each_release_and_each_python_gets_one_whole_run() -> None:
    whole = whole_ones(choose(LISTED, [])[0])
    assert sorted(names(list(whole))) == ["2.11.0/3.10", "2.14.1/3.11", "2.15.0/3.12"]


def test_more_releases_than_pythons() -> None:
    found = {f"3.{minor}": [f"2.{k}.0" for k in range(11, 17)] for minor in (10, 11)}
    whole = whole_ones(choose(found, [])[0])
    assert {pair.torch for pair in whole} == {f"2.{k}.0" for k in range(11, 17)}
    assert len(whole) == 6


class Pip:
    """Answers `pip index versions` for the Pythons it has lists for."""

    def __init__(self, lists: dict[str, str]) -> None:
        self.lists = lists
        self.asked: list[str] = []

    def __call__(self, command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        self.asked.append(command[-1])
        if command[-1] not in self.lists:
            said = "WARNING: it is slow\nERROR: No matching distribution found for torch\n"
            return subprocess.CompletedProcess(command, 1, "", said)
        out = f"torch (2.15.0)\nAvailable versions: {self.lists[command[-1]]}\n"
        return subprocess.CompletedProcess(command, 0, out, "")


def test_pip_is_asked_until_it_has_nothing_newer(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip({"3.11": "2.15.0, 2.13.0+cpu, 2.13.0, 2.11.0", "3.12": "2.15.0+cpu, 2.14.0rc1"})
    monkeypatch.setattr(subprocess, "run", pip)
    assert wheels() == {"3.11": ["2.15.0", "2.13.0", "2.13.0", "2.11.0"], "3.12": ["2.15.0"]}
    assert pip.asked == ["3.10", "3.11", "3.12", "3.13"]


def test_only_the_named_pythons_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    pip = Pip({"3.11": "2.15.0", "3.12": "2.15.0"})
    monkeypatch.setattr(subprocess, "run", pip)
    assert wheels(["3.12"]) == {"3.12": ["2.15.0"]}
    assert pip.asked == ["3.12"]


def test_an_index_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", Pip({}))
    with pytest.raises(
        NoIndex, match=r"^pip lists no wheel of torch: ERROR: No matching distribution"
    ):
        wheels()


def test_an_index_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        subprocess, "run", lambda command, run=subprocess.run, **how: run(["sleep", "20"], **how)
    )
    with pytest.raises(NoIndex, match="not listed the releases of torch in 0 s"):
        wheels(["3.12"], 0.2)


def program(folder: Path, name: str, text: str) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return str(file)


def test_pythons_on_the_path_and_those_of_pyenv(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bin"
    monkeypatch.setenv("PATH", f"{path}:/usr/bin:/bin")
    program(path, "python3.97", "echo /here/python3.97")
    # pyenv's name for a Python that nobody chose
    program(path, "python3.98", "echo 'pyenv: python3.98: command not found' >&2; exit 127")
    program(path, "python3.99", "exit 127")
    releases = tmp_path / "releases"
    program(releases / "3.98.10" / "bin", "python", f"echo {releases}/3.98.10/bin/python")
    listed = 'printf "3.98.9\\n3.98.10\\n3.9.8\\n"'
    program(path, "pyenv", f'[ "$1" = prefix ] && echo {releases}/"$2" || {listed}')
    own = "{}.{}".format(*sys.version_info)
    assert interpreters([own, "3.96", "3.97", "3.98", "3.99"]) == {
        own: sys.executable,
        "3.97": "/here/python3.97",
        "3.98": f"{releases}/3.98.10/bin/python",
    }
