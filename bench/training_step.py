"""A training step on mps against the same step on the CPU: time, and losses bit for bit.

    scripts/bench training_step

Goal: within 3% of the CPU's time, the same losses.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

import openmps
from openmps.bench.measure import alternate
from openmps.bench.models import BERT_WORDS, Bert, resnet18, vgg11

LIMIT = 1.03
ROUNDS = 41


class Training:
    """One model on one device, and the losses of the steps taken so far."""

    def __init__(self, make: Callable[[], nn.Module], inputs: Tensor, classes: int, device: str):
        torch.manual_seed(0)
        self.model = make().to(device)
        self.inputs = inputs.to(device)
        self.targets = (torch.arange(len(inputs)) % classes).to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1e-3, momentum=0.9)
        self.losses: list[float] = []

    def step(self) -> None:
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.inputs), self.targets)
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())


def compare(cpu: list[float], mps: list[float]) -> str:
    if cpu == mps:
        return "same, bit for bit"
    # As on a Mac, attention with gradients is the plain formula; the CPU's is a fused kernel.
    close = all(math.isclose(a, b, rel_tol=1e-5) for a, b in zip(cpu, mps, strict=True))
    return "same to 1e-5" if close else "DIFFERENT"


def main() -> None:
    openmps.activate(engine="cpu")
    images = torch.randn(8, 3, 64, 64)
    cases = {
        "ResNet-18, 8 x 64 px": (resnet18, images, 1000),
        "BERT 4 layers, 8 x 64 tokens": (
            lambda: Bert(4, dropout=0.0),
            torch.randint(BERT_WORDS, (8, 64)),
            2,
        ),
        "VGG-11, 1 x 224 px": (vgg11, torch.randn(1, 3, 224, 224), 1000),
    }
    print(f"{'model':30} {'cpu ms':>8} {'mps ms':>8} {'ratio':>6} {'fastest':>8}  losses")
    for name, (make, inputs, classes) in cases.items():
        on_cpu = Training(make, inputs, classes, "cpu")
        on_mps = Training(make, inputs, classes, "mps")
        pair = alternate(on_cpu.step, on_mps.step, calls=1, rounds=ROUNDS)
        same = compare(on_cpu.losses, on_mps.losses)
        print(
            f"{name:30} {pair.base_s * 1e3:8.1f} {pair.other_s * 1e3:8.1f} {pair.ratio:6.3f}"
            f" {pair.fastest_ratio:8.3f}  {same} ({len(on_mps.losses)} steps)"
        )
    print(f"goal: ratio at most {LIMIT}, the same losses")


if __name__ == "__main__":
    main()
