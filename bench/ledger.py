"""What `openmps check`'s recorder costs: a ResNet-18 training step with it and without it.

    scripts/bench ledger

Goal: at most 30% more. Off, it is the flag that the profiler looks at anyway.
"""

from __future__ import annotations

import torch

import openmps
from openmps.bench.measure import alternate
from openmps.bench.models import resnet18
from training_step import Training

LIMIT = 1.30


def main() -> None:
    openmps.activate(engine="cpu")
    core = torch._C._mps_host_alias_storage.__self__  # one of the core's functions
    training = Training(resnet18, torch.randn(8, 3, 64, 64), 1000, "mps")

    def recorded() -> None:
        core.start_ledger(True, [], [], "")
        try:
            training.step()
        finally:
            core.stop_ledger()

    pair = alternate(training.step, recorded, calls=1, rounds=41)
    print(f"{'':24} {'off ms':>8} {'on ms':>8} {'ratio':>6} {'fastest':>8}")
    print(
        f"{'ResNet-18, 8 x 64 px':24} {pair.base_s * 1e3:8.1f} {pair.other_s * 1e3:8.1f} "
        f"{pair.ratio:6.3f} {pair.fastest_ratio:8.3f}"
    )
    print(f"goal: at most {LIMIT}")


if __name__ == "__main__":
    main()
