"""A product is rounded before it is added; once with the sum on a GPU, as on a Mac's."""

from __future__ import annotations

import numpy as np

from .conftest import Launcher

SOURCE = """
kernel void f(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[3 * i] * x[3 * i + 1] + x[3 * i + 2];
}
"""
THREADS = 64


def test_a_product_is_rounded_before_it_is_added(launcher: Launcher) -> None:
    numbers = np.random.default_rng(0).normal(size=(THREADS, 3)).astype(np.float32)
    a, b, c = numbers.T
    wide = numbers.astype(np.longdouble)
    once, twice = (wide[:, 0] * wide[:, 1] + wide[:, 2]).astype(np.float32), a * b + c
    assert (once != twice).any()
    result = np.zeros(THREADS, np.float32)
    memory = launcher.memory([numbers.reshape(-1), result])
    launcher.run(launcher.compile(SOURCE), "f", memory, [THREADS], [THREADS])
    np.testing.assert_array_equal(result, once if launcher.path == "cuda" else twice)
