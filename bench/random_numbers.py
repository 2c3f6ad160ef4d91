"""Random numbers on mps over the same call on the CPU.

    scripts/bench random_numbers

Goals: 10 million numbers in at most twice the CPU's time; a few, at most 3 microseconds over.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

import openmps
from openmps.bench.measure import alternate

MANY = 10_000_000
LIMIT_RATIO = 2.0
LIMIT_US = 3.0
Operator = Callable[[], object]


def large(device: str) -> dict[str, Operator]:
    x = torch.ones(MANY, device=device)
    dropout = torch.nn.functional.dropout
    return {
        "rand": lambda: torch.rand(MANY, device=device),
        "randn": lambda: torch.randn(MANY, device=device),
        "randn half": lambda: torch.randn(MANY, device=device, dtype=torch.float16),
        "randint": lambda: torch.randint(0, 1000, (MANY,), device=device),
        "bernoulli_": lambda: x.bernoulli_(0.3),
        "exponential_": lambda: x.exponential_(),
        "dropout": lambda: dropout(x, 0.3),
        "native_dropout": lambda: torch.native_dropout(x, 0.3, True),
        # For comparison, without a goal: a Mac sorts keys, the CPU shuffles.
        "randperm of 1M": lambda: torch.randperm(1_000_000, device=device),
    }


def small(device: str) -> dict[str, Operator]:
    x = torch.ones(4, device=device)
    dropout = torch.nn.functional.dropout
    return {
        "rand(4)": lambda: torch.rand(4, device=device),
        "randn(4)": lambda: torch.randn(4, device=device),
        "randint(4)": lambda: torch.randint(0, 1000, (4,), device=device),
        "bernoulli_(4)": lambda: x.bernoulli_(0.3),
        "dropout(4)": lambda: dropout(x, 0.3),
        "randperm(4)": lambda: torch.randperm(4, device=device),
    }


def main() -> None:
    openmps.activate(engine="cpu")
    print(f"{torch.get_num_threads()} threads")
    print(f"{'10 million':16} {'cpu ms':>8} {'mps ms':>8} {'ratio':>8} {'fastest':>8}")
    mps = large("mps")
    for name, on_cpu in large("cpu").items():
        pair = alternate(on_cpu, mps[name], calls=1, rounds=9)
        times = f"{pair.base_s * 1e3:8.1f} {pair.other_s * 1e3:8.1f}"
        print(f"{name:16} {times} {pair.ratio:8.2f} {pair.fastest_ratio:8.2f}")
    print(f"goal: a ratio of at most {LIMIT_RATIO}")
    print(f"{'a few':16} {'cpu us':>8} {'mps us':>8} {'over us':>8}")
    mps = small("mps")
    for name, on_cpu in small("cpu").items():
        pair = alternate(on_cpu, mps[name], calls=2000, rounds=51)
        print(f"{name:16} {pair.base_s * 1e6:8.2f} {pair.other_s * 1e6:8.2f} {pair.over_us:8.2f}")
    print(f"goal: at most {LIMIT_US} us over")


if __name__ == "__main__":
    main()
