"""Throughput of whole models on an NVIDIA GPU: `mps` on the CUDA engine against `cuda`, and against
this machine's CPU engine.

    scripts/gpu bench gpu_models
    python bench/gpu_models.py --models "VGG-16" --only gpu

Goal: 0.98 of cuda's items per second. One program text, in a process for each device, measured in
turn; torch's defaults for TF32 and cuDNN. The optimizer is asked to be fused: left alone, torch's
Python takes a grouped one on cuda and a loop over the weights on mps, as it does on a Mac
(`--optimizer default` measures that).
"""

from __future__ import annotations

import argparse
import contextlib
import math
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from typing import NamedTuple

from gpu_report import Row, folder, keep, read, show
from sides import CaseFailed, Side, close_on, compare_in_turn, serve, two_sides

GOAL = 0.98


class Turns(NamedTuple):
    """How the two sides take turns: for how long, how often."""

    round_s: float
    rounds: int


TURNS = Turns(0.15, 5)
# BERT in bf16 keeps the card waiting for the host, which may be twice as fast at one moment as at
# the next, for tenths of a second. So turns are short, and many: most neighbours meet the same.
HOST_TURNS = Turns(0.02, 301)
CPU_S = 3.0  # a case on the CPU engine takes no further step after this long
OVER_CPU = ": over the CPU engine"
TITLE = "Models: items per second on cuda and on mps"


class Model(NamedTuple):
    name: str
    batch: int
    classes: int
    adam: bool


MODELS = {
    model.name: model
    for model in (
        Model("ResNet-50", 128, 1000, adam=False),
        Model("BERT-base", 64, 2, adam=True),
        Model("VGG-16", 64, 1000, adam=False),
    )
}
BF16 = "bf16 autocast"
# torch's autocast takes batch norms in float32 on mps, as on a Mac, and in bfloat16 on cuda. So a
# model with batch norms is measured as it comes, and with the same dtypes on both sides: with norms
# that ask for float32, and with cuda's list on both.
BF16_NORMS = "bf16 autocast, norms in float32"
CUDA_NORMS = "bf16 autocast, cuda's dtypes"
AS_CUDA = {"OPENMPS_AUTOCAST": "cuda"}


def cases_of(name: str) -> list[tuple[str, str]]:
    """Evaluation first: until a step is taken both sides have the same weights, and loss."""
    bf16 = [BF16, BF16_NORMS, CUDA_NORMS] if name == "ResNet-50" else [BF16]
    return [(mode, kind) for mode in ("evaluation", "training") for kind in ["fp32", *bf16]]


class ModelCase:
    """A model, a batch and an optimizer on a device; `seconds` runs steps of one kind."""

    def __init__(self, case: str, device: str, optimizer: str, scale: int) -> None:
        import torch

        name, mode, precision = case.split(" / ")
        model = MODELS[name]
        self._torch = torch
        self._device = device
        self._bf16 = precision != "fp32"
        torch.manual_seed(0)
        self._model = make(name).to(device)
        if precision == BF16_NORMS:
            keep_norms_in_float32(self._model, device)
        batch = max(2, model.batch // scale)
        if name == "BERT-base":
            inputs = torch.randint(30522, (batch, 128))
        else:
            inputs = torch.randn(batch, 3, 224, 224)
        self._inputs = inputs.to(device)
        self._targets = (torch.arange(batch) % model.classes).to(device)
        self._step: Callable[[], object]
        if mode == "evaluation":
            self._model.eval()
            self._step = self.evaluate
        else:
            fused = {"fused": True} if optimizer == "fused" else {}
            weights = self._model.parameters()
            self._optimizer: torch.optim.Optimizer = (
                torch.optim.AdamW(weights, lr=1e-5, **fused)
                if model.adam
                else torch.optim.SGD(weights, lr=1e-3, momentum=0.9, **fused)
            )
            self._step = self.train

    def _autocast(self) -> AbstractContextManager[object]:
        if not self._bf16:
            return contextlib.nullcontext()
        return self._torch.autocast(self._device, dtype=self._torch.bfloat16)

    def _loss(self) -> object:
        with self._autocast():
            outputs = self._model(self._inputs)
            return self._torch.nn.functional.cross_entropy(outputs, self._targets)

    def evaluate(self) -> object:
        with self._torch.no_grad():
            return self._loss()

    def train(self) -> object:
        self._optimizer.zero_grad()
        loss = self._loss()
        loss.backward()  # type: ignore[attr-defined]
        self._optimizer.step()
        return loss

    def warm_up(self, steps: int = 3) -> float:
        first = float(self._step().detach())  # type: ignore[attr-defined]
        for _ in range(steps - 1):
            self._step()
        self._wait()
        return first

    def seconds(self, calls: int) -> float:
        self._step()  # the other process has used the card meanwhile
        return self.seconds_at_once(calls)

    def seconds_at_once(self, calls: int) -> float:
        self._wait()
        begin = time.perf_counter()
        for _ in range(calls):
            self._step()
        self._wait()
        return (time.perf_counter() - begin) / calls

    def seconds_within(self, limit_s: float) -> float:
        """Of a step, after one that is not counted; as many as begin within the limit."""
        begin = time.perf_counter()
        self.warm_up(1)
        times = [self.seconds_at_once(1)]
        while len(times) < 3 and time.perf_counter() - begin < limit_s:
            times.append(self.seconds_at_once(1))
        return sorted(times)[len(times) // 2]

    def _wait(self) -> None:
        self._torch.get_device_module(self._device).synchronize()


def make(name: str):  # type: ignore[no-untyped-def]
    from openmps.bench.models import bert_base, resnet50, vgg16

    return {"ResNet-50": resnet50, "BERT-base": bert_base, "VGG-16": vgg16}[name]()


def keep_norms_in_float32(model, device: str) -> None:  # type: ignore[no-untyped-def]
    import torch

    class Float32Norm(torch.nn.BatchNorm2d):
        def forward(self, input: torch.Tensor) -> torch.Tensor:
            with torch.autocast(device, enabled=False):
                return super().forward(input.float())

    for module in model.modules():
        if type(module) is torch.nn.BatchNorm2d:
            module.__class__ = Float32Norm


def check(mode: str, losses: list[float]) -> None:
    """Speed is worth nothing where the results differ. Dropout draws differently on each side."""
    close = 0.02 if mode == "evaluation" else 0.25
    if not all(map(math.isfinite, losses)) or not math.isclose(*losses, rel_tol=close):
        raise CaseFailed(f"the losses differ: cuda {losses[0]}, mps {losses[1]}")


def on_gpu(names: list[str], options: list[str], batch: Callable[[str], int]) -> Iterator[Row]:
    with ExitStack() as running:
        cuda, mps = running.enter_context(two_sides(__file__, options))
        as_cuda = Side(__file__, "mps", "cuda", options, AS_CUDA)
        running.callback(as_cuda.close)
        for name in names:
            for mode, precision in cases_of(name):
                case = f"{name} / {mode} / {precision}"
                what = f"{name}, {mode}, {precision}"
                side = as_cuda if precision == CUDA_NORMS else mps
                turns = HOST_TURNS if (name, precision) == ("BERT-base", BF16) else TURNS
                try:
                    pair, losses = compare_in_turn(cuda, side, case, **turns._asdict())
                    check(mode, losses)
                except CaseFailed as failure:
                    print(f"{what}: {failure}", flush=True)
                    yield Row.without_figures(what, GOAL)
                    close_on((cuda, side))
                    continue
                rates = batch(name) / pair.base_s, batch(name) / pair.other_s
                yield Row(what, *rates, "items/s", pair.speed, GOAL)


def on_cpu(names: list[str], options: list[str], batch: Callable[[str], int]) -> dict[str, float]:
    """Items per second on the CPU engine, in fp32."""
    found = {}
    side = Side(__file__, "mps", "cpu", options)
    try:
        for name in names:
            for mode in ("training", "evaluation"):
                side.ask("open", f"{name} / {mode} / fp32")
                found[f"{name}, {mode}, fp32"] = batch(name) / side.ask("seconds_within", CPU_S)
                side.ask("close")
                rate = found[f"{name}, {mode}, fp32"]
                print(f"CPU engine: {name}, {mode}, fp32: {rate:.1f} items/s", flush=True)
    finally:
        side.close()
    return found


def against_cpu(rows: list[Row], cpu: dict[str, float]) -> list[Row]:
    """What the chart shows: the GPU's speed over the CPU engine's."""
    return [
        Row(f"{row.what}{OVER_CPU}", cpu[row.what], row.mps, "items/s", faster)
        for row in rows
        if row.what in cpu
        for faster in [row.mps / cpu[row.what]]
    ]


def earlier() -> list[Row]:
    """The GPU's figures of the run before, for a run that measures the CPU engine alone."""
    path = folder() / "gpu_models.json"
    rows = read(path)[1] if path.exists() else []
    return [row for row in rows if not row.what.endswith(OVER_CPU)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", nargs="+", choices=list(MODELS), default=list(MODELS))
    parser.add_argument("--only", choices=("gpu", "cpu"))
    parser.add_argument("--optimizer", choices=("fused", "default"), default="fused")
    parser.add_argument("--scale", type=int, default=1, help="divides the batches, for trying out")
    parser.add_argument("--serve", metavar="DEVICE", help="for the worker processes")
    options = parser.parse_args()
    if options.serve:
        serve(
            options.serve,
            lambda case, device: ModelCase(case, device, options.optimizer, options.scale),
        )
        return

    def batch(name: str) -> int:
        return max(2, MODELS[name].batch // options.scale)

    passed_on = ["--optimizer", options.optimizer, "--scale", str(options.scale)]
    rows: list[Row] = []
    if options.only == "cpu":
        rows = earlier()
    else:
        for row in on_gpu(options.models, passed_on, batch):
            print(row.line(), flush=True)
            rows.append(row)
            keep("gpu_models", TITLE, rows)  # what is there counts, should time run out
    cpu = {} if options.only == "gpu" else on_cpu(options.models, passed_on, batch)
    rows += against_cpu(rows, cpu)
    show(TITLE, rows)
    keep("gpu_models", TITLE, rows, cpu=cpu, optimizer=options.optimizer)


if __name__ == "__main__":
    main()
