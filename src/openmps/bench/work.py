"""The work of each case, on the CPU and on mps, ready to be timed."""

from __future__ import annotations

import copy
import gc
import math
import time
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor, nn

from openmps.bench.measure import Pair, alternate
from openmps.bench.models import BERT_WORDS, bert_base, resnet50, vgg16
from openmps.bench.report import STEADY, Row
from openmps.bench.subjects import PRODUCTS, Case, Effort

_MODELS: dict[str, Callable[[], nn.Module]] = {
    "ResNet-50": resnet50,
    "BERT-base": bert_base,
    "VGG-16": vgg16,
}
_MOST_CALLS = 1000
_MOST_WARM_UPS = 4
_WARM = 0.9  # a call that takes at least this part of the one before was as fast as it gets
_MORE_TIMES = 3  # the rounds are repeated while their median is not known well enough
# Of results: a GPU rounds the factors of float32 products to 10 bits, unless it is told not to.
_CLOSE = {"float16": 0.02, "bfloat16": 0.05}
_CLOSE_OTHERWISE = 0.02


class Work(Protocol):
    def step(self, device: str, mode: str) -> Callable[[], Tensor]:
        """What is timed. Its result is one number, or is made to be one by the mean."""
        ...


class ProductWork:
    def __init__(self, case: Case) -> None:
        torch.manual_seed(0)
        dtype = getattr(torch, case.mode)
        pair = [torch.rand(case.side, case.side).to(dtype) for _ in range(2)]
        self._factors = {device: [f.to(device) for f in pair] for device in ("cpu", "mps")}

    def step(self, device: str, mode: str) -> Callable[[], Tensor]:
        a, b = self._factors[device]
        return lambda: a @ b


class ModelWork:
    """A model of the same weights on each device, a batch, and an optimizer."""

    def __init__(self, case: Case) -> None:
        torch.manual_seed(0)
        model = _MODELS[case.subject]()
        if case.subject == "BERT-base":
            inputs = torch.randint(BERT_WORDS, (case.batch, case.side))
            targets = torch.arange(case.batch) % 2
        else:
            inputs = torch.randn(case.batch, 3, case.side, case.side)
            targets = torch.arange(case.batch) % 1000
        self._models = {"mps": copy.deepcopy(model).to("mps"), "cpu": model}
        self._inputs = {device: inputs.to(device) for device in self._models}
        self._targets = {device: targets.to(device) for device in self._models}
        self._optimizers = {
            device: _optimizer(case.subject, placed) for device, placed in self._models.items()
        }

    def step(self, device: str, mode: str) -> Callable[[], Tensor]:
        training = mode == "training"
        self._models[device].train(training)
        return lambda: self._train(device) if training else self._evaluate(device)

    def _loss(self, device: str) -> Tensor:
        outputs = self._models[device](self._inputs[device])
        return nn.functional.cross_entropy(outputs, self._targets[device])

    def _evaluate(self, device: str) -> Tensor:
        with torch.no_grad():
            return self._loss(device)

    def _train(self, device: str) -> Tensor:
        optimizer = self._optimizers[device]
        optimizer.zero_grad()
        loss = self._loss(device)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return loss.detach()


def _optimizer(subject: str, model: nn.Module) -> torch.optim.Optimizer:
    weights = model.parameters()
    if subject == "BERT-base":
        return torch.optim.AdamW(weights, lr=1e-5)
    return torch.optim.SGD(weights, lr=1e-3, momentum=0.9)


def open_work(case: Case) -> Work:
    return ProductWork(case) if case.subject == PRODUCTS else ModelWork(case)


def close_work() -> None:
    """After the last reference to it is gone."""
    gc.collect()
    torch.mps.empty_cache()


def measure(case: Case, work: Work, effort: Effort, after_round: Callable[[float], object]) -> Row:
    """`after_round` hears which part of the case that was."""
    cpu, mps = (work.step(device, case.mode) for device in ("cpu", "mps"))
    results = [float(step().float().mean()) for step in (cpu, mps)]
    call_s = _warmed(cpu, mps)
    rounds = effort.rounds_of(call_s)

    def rounds_in_turn(told: float) -> Pair:
        return alternate(
            cpu,
            mps,
            calls=max(1, min(_MOST_CALLS, round(effort.round_s / call_s))),
            rounds=rounds,
            warm_up=False,
            wait=torch.mps.synchronize,
            after_round=lambda: after_round(told / rounds),
        )

    pair = rounds_in_turn(1)
    for _ in range(_MORE_TIMES):
        if pair.spread <= STEADY / 2:
            break
        pair += rounds_in_turn(0)
    failed = "" if case.mode == "training" else difference(case.mode, *results)
    return Row(case, pair.base_s, pair.other_s, len(pair.base), failed, pair.speed, pair.spread)


def _warmed(cpu: Callable[[], object], mps: Callable[[], object]) -> float:
    """Seconds of a call on the CPU, once calls take no less than those before: until then libraries
    choose kernels, and memory that was given back to the system is taken again."""
    last = math.inf
    for _ in range(_MOST_WARM_UPS):
        mps()
        torch.mps.synchronize()
        now = _seconds(cpu)
        if now > _WARM * last:
            return min(now, last)
        last = now
    return last


def _seconds(step: Callable[[], object]) -> float:
    begin = time.perf_counter()
    step()
    return time.perf_counter() - begin


def difference(mode: str, cpu: float, mps: float) -> str:
    """Speed is worth nothing where the results differ. (In training, each draws other dropout.)"""
    close = _CLOSE.get(mode, _CLOSE_OTHERWISE)
    if math.isfinite(cpu) and math.isfinite(mps) and math.isclose(cpu, mps, rel_tol=close):
        return ""
    return f"the results differ: cpu {cpu:g}, mps {mps:g}"
