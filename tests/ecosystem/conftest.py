"""Libraries change the process they run in: each test gets it back as it was."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[1]))  # for upstream.processor

from upstream import processor


@pytest.fixture(autouse=True)
def process_as_it_was() -> Iterator[None]:
    """accelerate turns the fallback on for the rest of the process; nothing may ask a network."""
    before = dict(os.environ)
    os.environ["HF_HUB_OFFLINE"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(scope="session")
def processor_variables() -> dict[str, str]:
    """For processes that compute in bfloat16."""
    return processor.variables()


Program = Callable[..., str]


@pytest.fixture
def program(python, processor_variables: dict[str, str]) -> Program:
    """Runs an unmodified program with the device, and gives what it printed."""

    def run(*arguments: str, **variables: str) -> str:
        done = python(*arguments, OPENMPS="1", **{**processor_variables, **variables})
        assert done.returncode == 0, done.stderr[-4000:]
        return str(done.stdout)

    return run


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What a library warns of is its own affair."""
    for item in items:
        if "ecosystem" in item.path.parts:
            item.add_marker(pytest.mark.filterwarnings("ignore"))
