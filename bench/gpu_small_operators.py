"""What one call on mps costs over the same call on cuda, where the launch is all there is.

    scripts/gpu bench gpu_small_operators

Goal: `add` of 4 numbers at most 0.6 microseconds over. Host time: calls come in bursts that the
queue of launches has room for, and nothing waits for the card while the clock runs.
"""

from __future__ import annotations

import argparse
import time

from gpu_report import Row, keep, show
from sides import in_turn, open_on, serve, two_sides
from small_operators import Operator, operators

LIMIT_US = 0.6
BURST = 500  # launches in flight; a card takes about a thousand before it makes the host wait
BURSTS = 10
ROUNDS = 41
NAMES = ("add", "relu", "mul_", "sum", "linear 8x64")
TITLE = "Small operators: microseconds per call on cuda and on mps; the figure is the difference"


class Calls:
    def __init__(self, name: str, device: str) -> None:
        import torch

        self._wait = torch.get_device_module(device).synchronize
        self._call: Operator = operators(device)[name]

    def warm_up(self) -> float:
        for _ in range(4):
            self.seconds(BURST)
        result = self._call()
        return float(result.sum())  # type: ignore[attr-defined]

    def seconds(self, calls: int) -> float:
        """The fastest burst's: a burst that the machine interrupted says nothing."""
        return min(self._burst(calls) for _ in range(BURSTS)) / calls

    def _burst(self, calls: int) -> float:
        call = self._call
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        spent = time.perf_counter() - begin
        self._wait()
        return spent


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--serve", metavar="DEVICE", help="for the worker processes")
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, Calls)
        return
    rows = []
    with two_sides(__file__) as (cuda, mps):
        for name in NAMES:
            results = open_on((cuda, mps), name)
            if results[0] != results[1]:
                raise SystemExit(f"{name}: cuda gives {results[0]}, mps {results[1]}")
            pair = in_turn(cuda, mps, calls=BURST, rounds=ROUNDS)
            goal = LIMIT_US if name == "add" else None
            base, other = pair.base_s * 1e6, pair.other_s * 1e6
            rows.append(Row(name, base, other, "us", pair.over_us, goal, at_most=True))
    show(TITLE, rows)
    keep("gpu_small_operators", TITLE, rows)


if __name__ == "__main__":
    main()
