"""What one call on mps costs over the same call on the CPU, where the work itself is nothing.

    scripts/bench small_operators

Goal: at most 0.5 microseconds each.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

import openmps
from openmps.bench.measure import alternate

LIMIT_US = 0.5
Operator = Callable[[], object]


def operators(device: str) -> dict[str, Operator]:
    a = torch.ones(4, device=device)
    b = torch.ones(4, device=device)
    x = torch.ones(8, 64, device=device)
    weight = torch.ones(64, 64, device=device)
    bias = torch.ones(64, device=device)
    linear = torch.nn.functional.linear
    return {
        "add": lambda: a + b,
        "relu": lambda: torch.relu(a),
        "mul_": lambda: a.mul_(b),
        "sum": lambda: a.sum(),
        "linear 8x64": lambda: linear(x, weight, bias),
        # For comparison, without a goal: a boxed operator, a view, a factory.
        "digamma (boxed)": lambda: torch.digamma(a),
        "view": lambda: x.view(64, 8),
        "zeros": lambda: torch.zeros(4, device=device),
    }


def main() -> None:
    openmps.activate(engine="cpu")
    torch.set_num_threads(1)
    mps = operators("mps")
    print(f"{'operator':16} {'cpu us':>8} {'mps us':>8} {'over us':>8}")
    for name, on_cpu in operators("cpu").items():
        pair = alternate(on_cpu, mps[name], calls=2000, rounds=101)
        print(f"{name:16} {pair.base_s * 1e6:8.2f} {pair.other_s * 1e6:8.2f} {pair.over_us:8.2f}")
    print(f"goal for the first five: at most {LIMIT_US} us over")


if __name__ == "__main__":
    main()
