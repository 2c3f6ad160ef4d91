"""Recurrent layers and cells on mps against the CPU: speed, evaluated and trained.

    scripts/bench recurrent

Goal: at least 0.97 of the CPU's speed, with the same numbers.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

import openmps
from openmps.bench.measure import alternate

GOAL = 0.97
ROUND_S = 0.02
ROUNDS = 31


@dataclass(frozen=True)
class Shape:
    steps: int
    batch: int
    features: int
    hidden: int
    layers: int


SMALL = Shape(steps=12, batch=4, features=16, hidden=16, layers=1)
LARGER = Shape(steps=48, batch=32, features=128, hidden=256, layers=2)

LAYERS: dict[str, Callable[[Shape], nn.Module]] = {
    "LSTM": lambda s: nn.LSTM(s.features, s.hidden, s.layers),
    "GRU": lambda s: nn.GRU(s.features, s.hidden, s.layers),
    "RNN tanh": lambda s: nn.RNN(s.features, s.hidden, s.layers),
    "RNN relu": lambda s: nn.RNN(s.features, s.hidden, s.layers, nonlinearity="relu"),
    "LSTM both ways": lambda s: nn.LSTM(s.features, s.hidden, s.layers, bidirectional=True),
}
CELLS: dict[str, Callable[[Shape], nn.Module]] = {
    "LSTMCell": lambda s: nn.LSTMCell(s.features, s.hidden),
    "GRUCell": lambda s: nn.GRUCell(s.features, s.hidden),
    "RNNCell": lambda s: nn.RNNCell(s.features, s.hidden),
}


def first_of(result: Tensor | tuple[Tensor, ...]) -> Tensor:
    return result[0] if isinstance(result, tuple) else result


class Work:
    def __init__(self, module: nn.Module, inputs: Tensor, device: str) -> None:
        self.module = module.to(device)
        self.inputs = inputs.to(device)

    def evaluate(self) -> Tensor:
        with torch.no_grad():
            return first_of(self.module(self.inputs))

    def train(self) -> None:
        self.module.zero_grad()
        first_of(self.module(self.inputs)).sum().backward()

    def results(self) -> list[Tensor]:
        out = self.evaluate().cpu()
        self.train()
        return [out, *(p.grad.cpu() for p in self.module.parameters() if p.grad is not None)]


def report(name: str, make: Callable[[Shape], nn.Module], shape: Shape, inputs: Tensor) -> None:
    sides = []
    for device in ("cpu", "mps"):
        torch.manual_seed(0)
        sides.append(Work(make(shape), inputs, device))
    base, other = sides
    same = all(torch.equal(a, b) for a, b in zip(base.results(), other.results(), strict=True))
    speeds = []
    for on_cpu, on_mps in ((base.evaluate, other.evaluate), (base.train, other.train)):
        once = alternate(on_cpu, on_cpu, calls=1, rounds=3).base_s
        calls = max(1, round(ROUND_S / once))
        pair = alternate(on_cpu, on_mps, calls=calls, rounds=ROUNDS)
        speeds.append(f"{pair.base_s * 1e6:10.0f} {pair.speed:6.2f}")
    size = f"{shape.steps}x{shape.batch}, {shape.features}->{shape.hidden} x{shape.layers}"
    verdict = "same, bit for bit" if same else "DIFFERENT"
    print(f"{name:15} {size:24} {'  '.join(speeds)}  {verdict}", flush=True)


def main() -> None:
    wanted = sys.argv[1:]
    openmps.activate(engine="cpu")
    print(f"{'':40} {'evaluated':>17}  {'trained':>17}")
    print(f"{'':40} {'cpu us':>10} {'speed':>6}  {'cpu us':>10} {'speed':>6}")
    torch.manual_seed(1)
    for shape in (SMALL, LARGER):
        sequence = torch.randn(shape.steps, shape.batch, shape.features)
        for name, make in (LAYERS | CELLS).items():
            if not wanted or name in wanted:
                report(name, make, shape, sequence if name in LAYERS else sequence[0])
    print(f"goal: a speed of {GOAL}, the same numbers")


if __name__ == "__main__":
    main()
