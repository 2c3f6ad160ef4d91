"""What memory costs on mps against the CPU: taking it and giving it back, as a factory does and as
an operator does for its result.

    scripts/bench allocation

Goal: at most 1.5 times the CPU's time.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

import openmps
from openmps.bench.measure import alternate

LIMIT = 1.5
KIB = 1 << 10
MIB = 1 << 20
# Name, bytes, calls in a round: the operator on 64 MiB writes them all.
SIZES = (("64 B", 64, 500), ("4 KiB", 4 * KIB, 500), ("1 MiB", MIB, 20), ("64 MiB", 64 * MIB, 1))


def factories(device: str, elements: int) -> Callable[[], object]:
    # The device is named on both sides: reading the argument takes its time, too.
    return lambda: torch.empty(elements, device=device)


def results(device: str, elements: int) -> Callable[[], object]:
    argument = torch.ones(elements, device=device)
    return lambda: torch.relu(argument)


def main() -> None:
    openmps.activate(engine="cpu")
    torch.set_num_threads(1)
    print(f"{'what':16} {'cpu us':>10} {'mps us':>10} {'ratio':>7} {'of the fastest':>15}")
    for name, size, calls in SIZES:
        elements = size // 4
        for what, make, times in (("empty", factories, 500), ("relu", results, calls)):
            pair = alternate(make("cpu", elements), make("mps", elements), calls=times, rounds=101)
            base, other = pair.base_s * 1e6, pair.other_s * 1e6
            ratios = f"{pair.ratio:7.2f} {pair.fastest_ratio:15.2f}"
            print(f"{what + ' ' + name:16} {base:10.2f} {other:10.2f} {ratios}")
    print(f"goal: at most {LIMIT} times the CPU's time")


if __name__ == "__main__":
    main()
