"""A few of the random kernels; scripts/differential runs thousands."""

from __future__ import annotations

import pytest

from openmps.msl.library import parse_library

from .conftest import CPU_PATHS, ENGINE, LEVELS, target_of
from .differential import difference
from .random_kernels import make_kernel

PROGRAMS = 40


def build_ahead(seed: int) -> None:
    """conftest.py calls this in threads."""
    library = parse_library(make_kernel(seed).source)
    for path in paths(seed):
        target_of(path).open(library)
        target_of(path).kernel(library, "made")


def paths(seed: int) -> tuple[str, ...]:
    """All ways for some: optimised threads find little that the others do not, and one level of
    processor differs from the next in how lanes load and store."""
    if ENGINE == "cuda":
        return "threads-O0", "cuda-exact"
    level = LEVELS[seed % len(LEVELS)] if LEVELS else ""
    below = [path for path in (f"lanes-{level}", f"lanes-O0-{level}") if path in CPU_PATHS]
    return ("threads-O0", "lanes", "lanes-O0", *below, *(["threads"] if seed % 4 == 0 else []))


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_lanes_agree_with_threads(seed: int) -> None:
    found = difference(seed, paths(seed)[1:])
    assert found is None, found
