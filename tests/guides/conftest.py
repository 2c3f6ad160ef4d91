"""Runs the snippets of a topic, and gives each test what its own did."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # for upstream.processor

from upstream import processor

from .snippets import Outcome, Snippet
from .together import END

TOGETHER = Path(__file__).with_name("together.py")
OFFLINE = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}

Run = Callable[[Snippet], Outcome]


@pytest.fixture(scope="session")
def environment() -> dict[str, str]:
    """For processes that compute in bfloat16 and must not ask a network."""
    return {**processor.variables(), **OFFLINE}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Outcome]:
    return {}


@pytest.fixture
def run(request, python, tmp_path: Path, outcomes, environment: dict[str, str]) -> Run:
    """What a snippet of this module's SNIPPETS did; the first to ask runs those it shares with."""

    def together(sharing: list[Snippet], variables: dict[str, str]) -> list[Outcome]:
        done = python(str(TOGETHER), "programs", OPENMPS="1", **variables)
        found = parted(done.stdout, done.stderr)
        assert len(found) == len(sharing), f"{done.returncode}\n{done.stdout}\n{done.stderr}"
        return found

    def by_itself(variables: dict[str, str]) -> list[Outcome]:
        done = python("-m", "openmps", "run", "programs/000.py", **variables)
        return [Outcome(done.stdout, done.stderr, done.returncode)]

    def run(snippet: Snippet) -> Outcome:
        if snippet.name not in outcomes:
            sharing = [one for one in request.module.SNIPPETS if one.process == snippet.process]
            write(sharing, tmp_path / "programs")
            variables = {**environment, **snippet.variables}
            itself = snippet.alone and not snippet.then
            found = by_itself(variables) if itself else together(sharing, variables)
            names = [one.name for one in sharing]
            outcomes.update(zip(names, found, strict=True))
        return outcomes[snippet.name]

    return run


def write(snippets: list[Snippet], folder: Path) -> None:
    folder.mkdir()
    for index, snippet in enumerate(snippets):
        (folder / f"{index:03}.py").write_text(snippet.source)
        if snippet.then:
            (folder / f"{index:03}.then").write_text(dedent(snippet.then))


def parted(stdout: str, stderr: str) -> list[Outcome]:
    """The output of each program of together.py."""
    ended = re.compile(f"(.*?){END}(\\d+)\n", re.DOTALL)
    return [
        Outcome(output, error, int(exit_code))
        for (output, exit_code), (error, _) in zip(
            ended.findall(stdout), ended.findall(stderr), strict=True
        )
    ]
