"""A part of a test file, for machines with many cores: OPENMPS_SHARD=2/4 with `-p shard_of_file`
runs every fourth test, from the second on. The parts of a file together are all of it."""

from __future__ import annotations

import os
from typing import TypeVar

import pytest

T = TypeVar("T")


def part(items: list[T], shard: str) -> tuple[list[T], list[T]]:
    """What the shard runs, and the rest."""
    number, count = map(int, shard.split("/"))
    if not 1 <= number <= count:
        raise pytest.UsageError(f"OPENMPS_SHARD is {shard!r}; it must be like 2/4")
    mine = items[number - 1 :: count]
    rest = [item for at, item in enumerate(items) if at % count != number - 1]
    return mine, rest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    items[:], rest = part(items, os.environ.get("OPENMPS_SHARD", "1/1"))
    if rest:
        config.hook.pytest_deselected(items=rest)
