"""How PyTorch's host code calls its kernels, and what torch on the CPU says they should compute.

One module for a group of kernel files. A recipe launches one or more kernels and returns what
they wrote and what was expected.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from corpus.launching import Runner

# |actual - expected| / max(1, |expected|)
TOLERANCES = {
    torch.float32: 2e-5, torch.complex64: 2e-5, torch.float16: 2e-3, torch.complex32: 4e-3,
    torch.bfloat16: 1.6e-2,
}  # fmt: skip


@dataclass(frozen=True)
class Check:
    actual: torch.Tensor
    expected: torch.Tensor
    tolerance: float | None = None

    @property
    def allowed(self) -> float:
        if self.tolerance is not None:
            return self.tolerance
        return TOLERANCES.get(self.actual.dtype, 0.0)

    def error(self) -> float:
        if self.actual.shape != self.expected.shape:
            raise ValueError(f"{self.actual.shape} is not {self.expected.shape}")
        return distance(self.actual, self.expected)


def distance(actual: torch.Tensor, expected: torch.Tensor) -> float:
    wide = torch.complex128 if actual.is_complex() or expected.is_complex() else torch.float64
    a, e = actual.detach().to(wide).reshape(-1), expected.detach().to(wide).reshape(-1)
    if wide is torch.complex128:
        a, e = torch.view_as_real(a).reshape(-1), torch.view_as_real(e).reshape(-1)
    same = (a == e) | (a.isnan() & e.isnan())
    error = (a - e).abs() / e.abs().clamp(min=1)
    error = torch.where(same, 0.0, error.nan_to_num(nan=float("inf"), posinf=float("inf")))
    return float(error.max()) if error.numel() else 0.0


Body = Callable[["Runner"], "Check | Sequence[Check]"]


@dataclass(frozen=True)
class Recipe:
    """thorough: only when asked for; the same kernels with further types."""

    file: str
    title: str
    body: Body
    thorough: bool = False


_RECIPES: list[Recipe] = []
# Kernel functions that nothing in torch can be compared with -> why.
WITHOUT_COUNTERPART: dict[str, str] = {}


def add(file: str, title: str, body: Body, *, thorough: bool = False) -> None:
    _RECIPES.append(Recipe(file, title, body, thorough))


def recipe(file: str) -> Callable[[Body], Body]:
    def keep(body: Body) -> Body:
        add(file, body.__name__, body)
        return body

    return keep


@functools.cache
def all_recipes() -> tuple[Recipe, ...]:
    for module in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{module.name}")
    return tuple(sorted(_RECIPES, key=lambda recipe: recipe.file))
