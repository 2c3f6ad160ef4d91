"""A few damaged shaders; scripts/fuzz-shaders tries thousands."""

from __future__ import annotations

import pytest

from .fuzzing import attempt_seed

pytestmark = pytest.mark.cpu_engine("damaged shaders are given to its compiler")

SOURCES, AT_ONCE = 200, 20


@pytest.mark.parametrize("first", range(0, SOURCES, AT_ONCE))
def test_damaged_shaders_compile_or_are_refused(first: int) -> None:
    for seed in range(first, first + AT_ONCE):
        _, outcome, what, source = attempt_seed(seed)
        assert outcome != "finding", f"seed {seed}\n{what}\n{source}"
