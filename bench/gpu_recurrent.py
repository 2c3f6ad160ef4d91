"""Recurrent layers on an NVIDIA GPU: `mps` on the CUDA engine against `cuda`, in time and memory.

    scripts/gpu bench gpu_recurrent
    python bench/gpu_recurrent.py --cases "LSTM / layers"

Goals: 0.97 of cuda's speed, and at most 1.02 times the bytes on the card. `cuda` lays the weights
in one buffer as its modules are moved there; torch's defaults for TF32.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from typing import Any

from gpu_report import Row, folder, keep, show
from sides import CaseFailed, compare_in_turn, serve, two_sides

GOAL = 0.97
MOST_BYTES = 1.02
ROUND_S = 0.05
ROUNDS = 21
TITLE = "Recurrent layers: calls per second on cuda and on mps"

# Steps, batch, features, hidden units, and the options of the layer.
SHAPES: dict[str, tuple[int, int, int, int, dict[str, Any]]] = {
    "small": (32, 16, 64, 64, {}),
    "one layer": (128, 64, 512, 512, {}),
    "layers": (128, 64, 512, 1024, {"num_layers": 2}),
    "both ways": (128, 64, 512, 512, {"num_layers": 2, "bidirectional": True}),
    "dropout": (128, 64, 512, 1024, {"num_layers": 2, "dropout": 0.2}),
    "packed": (128, 64, 512, 512, {}),
}
KINDS = ("LSTM", "GRU", "RNN")
CELLS = ("LSTMCell", "GRUCell")
PRECISIONS = ("fp32", "bf16", "bf16 autocast")


def all_cases() -> list[str]:
    layers = [
        f"{kind} / {shape} / {mode} / {precision}"
        for kind in KINDS
        for shape in SHAPES
        for mode in ("evaluation", "training")
        for precision in PRECISIONS
        if kind == "LSTM" or (shape in ("layers", "small") and precision != "bf16")
    ]
    cells = [
        f"{cell} / one layer / {mode} / fp32"
        for cell in CELLS
        for mode in ("evaluation", "training")
    ]
    return layers + cells


class Layer:
    def __init__(self, case: str, device: str) -> None:
        import torch

        kind, shape, self._mode, precision = case.split(" / ")
        steps, batch, features, hidden, options = SHAPES[shape]
        self._torch = torch
        self._device = device
        self._autocast = precision == "bf16 autocast"
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        torch.manual_seed(0)
        module = getattr(torch.nn, kind)(features, hidden, **options)
        self._module = module.to(device=device, dtype=dtype).train(self._mode == "training")
        size = (batch, features) if kind in CELLS else (steps, batch, features)
        inputs = torch.randn(*size).to(device=device, dtype=dtype)
        self._inputs: Any = inputs.requires_grad_(self._mode == "training")
        self._lengths = None
        if shape == "packed":
            self._lengths = torch.linspace(steps, steps // 4, batch).long()

    def _forward(self) -> Any:
        inputs = self._inputs
        if self._lengths is not None:
            pack = self._torch.nn.utils.rnn.pack_padded_sequence
            inputs = pack(inputs, self._lengths)
        context = (
            self._torch.autocast(self._device, dtype=self._torch.bfloat16)
            if self._autocast
            else contextlib.nullcontext()
        )
        with context:
            out = self._module(inputs)
        out = out[0] if isinstance(out, tuple) else out
        return getattr(out, "data", out)

    def _step(self) -> Any:
        if self._mode == "evaluation":
            with self._torch.no_grad():
                return self._forward()
        self._module.zero_grad()
        self._inputs.grad = None
        out = self._forward()
        out.float().square().mean().backward()
        return out

    def _wait(self) -> None:
        self._torch.get_device_module(self._device).synchronize()

    def warm_up(self) -> float:
        for _ in range(3):
            out = self._step()
        figure = float(out.detach().float().abs().mean())
        self._wait()
        return figure

    def seconds(self, calls: int) -> float:
        self._step()
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self._step()
        self._wait()
        return (time.perf_counter() - begin) / calls

    def peak(self) -> int:
        """Bytes on the card, at most, in one call."""
        bindings = self._torch._C
        self._wait()
        bindings._cuda_resetPeakMemoryStats(0)
        self._step()
        self._wait()
        peak: int = bindings._cuda_memoryStats(0)["allocated_bytes"]["all"]["peak"]
        return peak


def measure(cases: list[str]) -> list[Row]:
    rows = []
    with two_sides(__file__) as (cuda, mps):
        for case in cases:
            try:
                pair, figures = compare_in_turn(cuda, mps, case, round_s=ROUND_S, rounds=ROUNDS)
                rows.append(
                    Row(case, pair.base_s * 1e6, pair.other_s * 1e6, "us", pair.speed, GOAL)
                )
                print(
                    rows[-1].line(), "" if close(*figures) else f"DIFFERENT {figures}", flush=True
                )
                if case.endswith("fp32"):
                    rows.append(bytes_of(case, cuda, mps))
                    print(rows[-1].line(), flush=True)
            except CaseFailed as failure:
                print(failure, file=sys.stderr)
                rows.append(Row.without_figures(case, GOAL))
    return rows


def bytes_of(case: str, *sides: Any) -> Row:
    peaks = []
    for side in sides:
        side.ask("open", case)
        side.ask("warm_up")
        peaks.append(side.ask("peak") / 2**20)
        side.ask("close")
    ratio = peaks[1] / peaks[0]
    return Row(f"{case}: bytes", *peaks, "MiB", ratio, MOST_BYTES, at_most=True)


def close(a: float, b: float) -> bool:
    return abs(a - b) <= 0.05 * max(abs(a), abs(b))  # dropout's masks differ


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", choices=["cuda", "mps"])
    parser.add_argument("--cases", default="", help="only those whose name begins so")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve, lambda case, device: Layer(case, device))
        return
    rows = measure([case for case in all_cases() if case.startswith(arguments.cases)])
    keep(folder(), "gpu_recurrent", TITLE, rows)
    show(TITLE, rows)


if __name__ == "__main__":
    main()
