"""A few of the random kernels; scripts/differential runs thousands."""

from __future__ import annotations

import pytest

from .differential import difference

PROGRAMS = 40


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_lanes_agree_with_threads(seed: int) -> None:
    # All four ways for some; the fourth finds little that the other three do not.
    paths = ("lanes", "lanes-O0", "threads") if seed % 4 == 0 else ("lanes", "lanes-O0")
    found = difference(seed, paths)
    assert found is None, found
