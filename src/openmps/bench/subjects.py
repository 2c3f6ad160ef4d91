"""What can be measured, and in which sizes it fits a machine. Figures and pure functions."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from openmps.errors import OpenmpsError

PRODUCTS = "matmul"
DTYPES = ("float32", "float16", "bfloat16")
PRODUCT_SIDES = (256, 512, 1024, 2048, 4096, 8192)
# Evaluation first: until a step is taken both devices have the same weights.
MODES = ("evaluation", "training")
_TRAINING_OVER_EVALUATION = 3.0  # backward is two products for each one of forward


@dataclass(frozen=True)
class Model:
    """Figures per item are of one at the largest side; bytes are what training allocates."""

    name: str
    weights: int
    floats_per_weight: int  # itself, its gradient, the optimizer's
    sides: tuple[int, ...]  # pixels of an image, or tokens; the largest is the usual one
    unit: str
    power: int  # by which work grows with the side
    most_items: int  # of PyTorch's announcement
    evaluation_flops: float
    item_bytes: float

    def _part(self, side: int) -> float:
        return float(side / self.sides[0]) ** self.power

    def training_flops(self, batch: int, side: int) -> float:
        flops = self.evaluation_flops * self._part(side) * batch + 2 * self.weights
        return flops * _TRAINING_OVER_EVALUATION

    def bytes(self, batch: int, side: int) -> float:
        """On one device."""
        weights = 4.0 * self.weights * self.floats_per_weight
        return weights + self.item_bytes * self._part(side) * batch


_PIXELS = (224, 160, 128, 96, 64)
# After five halvings VGG makes 7 x 7 of what is left, which a Mac does from 7 x 7 and from one.
_VGG_PIXELS = (224, 32)
_TOKENS = (128, 64, 32)
MODELS = {
    model.name: model
    for model in (
        Model("ResNet-50", 25_557_032, 3, _PIXELS, "px", 2, 128, 8.2e9, 240e6),
        Model("BERT-base", 109_482_242, 4, _TOKENS, "tokens", 1, 64, 22e9, 400e6),
        Model("VGG-16", 138_357_544, 3, _VGG_PIXELS, "px", 2, 64, 31e9, 290e6),
    )
}
SUBJECTS = (PRODUCTS, *MODELS)


class Case(NamedTuple):
    """One row: a subject, in a mode (or a dtype), in a size."""

    subject: str
    mode: str
    side: int
    batch: int = 1

    @property
    def name(self) -> str:
        return f"{self.subject}, {self.mode}"

    @property
    def size(self) -> str:
        if self.subject == PRODUCTS:
            return f"{self.side} x {self.side}"
        return f"{self.batch} x {self.side} {MODELS[self.subject].unit}"

    @property
    def work(self) -> float:
        """Of one call, in `unit` times a second."""
        return 2e-9 * self.side**3 if self.subject == PRODUCTS else float(self.batch)

    @property
    def unit(self) -> str:
        return "GFLOP/s" if self.subject == PRODUCTS else "items/s"


class Effort(NamedTuple):
    """How long a benchmark may take on the CPU."""

    product_s: float
    step_s: float  # of training
    rounds: int
    round_s: float  # at least so long, by calling more often
    case_s: float  # what is slower than foreseen gets fewer rounds

    def rounds_of(self, call_s: float) -> int:
        """For a call that takes so long, on each of two devices."""
        return max(_FEWEST_ROUNDS, min(self.rounds, int(self.case_s / (2 * call_s))))


_FEWEST_ROUNDS = 3
DEFAULT = Effort(product_s=0.4, step_s=2.0, rounds=9, round_s=0.05, case_s=16.0)
QUICK = Effort(product_s=0.01, step_s=0.03, rounds=5, round_s=0.02, case_s=2.0)


def parse_only(text: str) -> list[str]:
    """The subjects that a list names, in our order; all of an empty one."""
    known = {_squeezed(name): name for name in SUBJECTS}
    known["bert"] = "BERT-base"
    wanted = set()
    for name in filter(None, (part.strip() for part in text.split(","))):
        if _squeezed(name) not in known:
            close = difflib.get_close_matches(_squeezed(name), known, n=1)
            meant = f"did you mean {known[close[0]]}? " if close else ""
            raise OpenmpsError(
                "--only does not know this benchmark",
                found=repr(name),
                next_step=f"{meant}use a list of {', '.join(SUBJECTS)}",
            )
        wanted.add(known[_squeezed(name)])
    return [name for name in SUBJECTS if name in wanted or not wanted]


def _squeezed(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def product_cases(flops: dict[str, float], effort: Effort) -> Iterator[Case]:
    """`flops`: what the CPU does in a second, by dtype. The smallest is always there."""
    for dtype in flops:
        for side in PRODUCT_SIDES:
            if side == PRODUCT_SIDES[0] or 2.0 * side**3 / flops[dtype] <= effort.product_s:
                yield Case(PRODUCTS, dtype, side)


def model_cases(
    model: Model, flops: float, free: float, effort: Effort, batch: int | None = None
) -> list[Case]:
    """The largest that takes no longer than it may and fits `free` bytes; or as asked for.

    Where none fits it is the smallest: `check_fits` says so.
    """
    batch, side = (batch, model.sides[0]) if batch else _fitting(model, flops, free, effort)
    return [Case(model.name, mode, side, batch) for mode in MODES]


def _fitting(model: Model, flops: float, free: float, effort: Effort) -> tuple[int, int]:
    for side in model.sides:
        batch = model.most_items
        while batch:
            quick = model.training_flops(batch, side) / flops <= effort.step_s
            if quick and _on_both(model, batch, side) <= free:
                return batch, side
            batch //= 2
    return 1, model.sides[-1]


def _on_both(model: Model, batch: int, side: int) -> float:
    """The CPU and mps hold a copy each."""
    return 2 * model.bytes(batch, side)


def check_fits(cases: Sequence[Case], free: float, mac: str = "", limit: float = 0) -> None:
    """Of the machine and, where it is named, of the Mac."""
    for case in cases:
        model = MODELS.get(case.subject)
        if model is None:
            continue
        needs = _on_both(model, case.batch, case.side)
        what = f"{case.subject} with {case.size} does not fit"
        if needs > free:
            raise OpenmpsError(
                f"{what} this machine",
                found=f"about {_gib(needs)} for the CPU's and mps' copies; {_gib(free)} are free",
                next_step="give a smaller --batch, or leave the model out with --only",
            )
        if mac and needs / 2 > limit:
            raise OpenmpsError(
                f"{what} {mac}",
                found=f"about {_gib(needs / 2)}; that Mac gives {_gib(limit)}",
                next_step="give a smaller --batch, or a larger --mac",
            )


def _gib(size: float) -> str:
    return f"{size / 2**30:.1f} GiB"
