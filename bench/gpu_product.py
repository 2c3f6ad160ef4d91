"""A large bfloat16 product on mps against the same on cuda.

    scripts/gpu bench gpu_product

Goal: 0.99 of cuda's speed. A card that multiplies draws all the power it may, and its clock wanders
by some percent within a second: turns are short, and the figure is the median of their own ratios.
"""

from __future__ import annotations

import argparse
import time

from gpu_report import Row, keep, show
from sides import compare_in_turn, serve, two_sides

GOAL = 0.99
ROUND_S = 0.03
ROUNDS = 101
TITLE = "Product in bf16: TFLOP/s on cuda and on mps"


class Product:
    """`case` is the size. Random numbers: a card draws less power, and runs faster, on zeros."""

    def __init__(self, case: str, device: str) -> None:
        import torch

        self._wait = torch.get_device_module(device).synchronize
        torch.manual_seed(0)
        size = int(case)
        on_cpu = [torch.randn(size, size).bfloat16() for _ in range(2)]
        self._a, self._b = (matrix.to(device) for matrix in on_cpu)
        found = (self._a @ self._b)[:4].float().cpu()
        expected = on_cpu[0][:4].float() @ on_cpu[1].float()
        torch.testing.assert_close(found, expected, rtol=1e-2, atol=size**0.5 / 50)
        self._figure = float(found.abs().sum())

    def warm_up(self) -> float:
        for _ in range(20):
            self._a @ self._b
        return self._figure

    def seconds(self, calls: int) -> float:
        for _ in range(3):  # the other process has used the card meanwhile
            self._a @ self._b
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self._a @ self._b
        self._wait()
        return (time.perf_counter() - begin) / calls


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--size", type=int, default=8192)
    parser.add_argument("--serve", metavar="DEVICE", help="for the worker processes")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, Product)
        return
    with two_sides(__file__) as (cuda, mps):
        pair, _ = compare_in_turn(
            cuda, mps, str(options.size), round_s=ROUND_S, rounds=ROUNDS, most_calls=100
        )
    work = 2 * options.size**3 / 1e12
    speeds = work / pair.base_s, work / pair.other_s
    rows = [Row(f"{options.size} cubed", *speeds, "TFLOP/s", pair.speed, GOAL)]
    show(TITLE, rows)
    keep("gpu_product", TITLE, rows)


if __name__ == "__main__":
    main()
