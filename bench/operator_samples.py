"""Arguments for every operator of PyTorch's own database: one small set, one large one.

The database has samples of a few elements, made from a few sizes named S, M, L and XS. Large ones
are the same with these sizes multiplied, or come from bench/operator_recipes.py.
"""

from __future__ import annotations

import itertools
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from operator_recipes import RECIPES

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from torch.testing._internal import common_methods_invocations as database

SIZES = ("S", "M", "L", "XS")
LOOK_AT = 16  # samples of one operator, of sometimes hundreds
SMALL_ELEMENTS = 1024
MOST_ELEMENTS = 1 << 26  # of one set of arguments

# Written for another device, or for sparse CSR tensors, which PyTorch refuses on a Mac too.
NOT_FOR_MPS = {
    "jiterator_unary", "jiterator_binary", "jiterator_4inputs_with_extra_args",
    "jiterator_binary_return_by_ref", "jiterator_2inputs_2outputs",
    "sparse.mm.reduce", "sparse.sampled_addmm",
}  # fmt: skip


@dataclass
class Sample:
    input: Any
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    @property
    def elements(self) -> int:
        return sum(leaf.numel() for leaf in self.tensors())

    def tensors(self) -> list[torch.Tensor]:
        leaves = tree_leaves((self.input, self.args, self.kwargs))
        return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]

    def on(self, device: str) -> Sample:
        """A copy with the same layout on every device, where each tensor is a leaf."""

        def moved(value: Any) -> Any:
            if isinstance(value, torch.Tensor):
                source = value.detach()
                copy = source.clone() if device == "cpu" else source.to(device)
                return copy.requires_grad_(value.requires_grad)
            if isinstance(value, torch.device) or (isinstance(value, str) and value == "cpu"):
                return torch.device(device)
            return value

        return Sample(*tree_map(moved, (self.input, self.args, self.kwargs)))


@dataclass(frozen=True)
class Operator:
    """One entry of the database, or the variant in place of one."""

    name: str
    call: Callable[..., Any]
    samples: Callable[[bool], Iterator[Sample]]  # whether they require gradients
    differentiable: bool
    factory: bool = False
    in_place: bool = False


def name_of(op: Any) -> str:
    return f"{op.name}.{op.variant_test_name}" if op.variant_test_name else str(op.name)


def _from_database(op: Any, dtype: torch.dtype) -> Callable[[bool], Iterator[Sample]]:
    def samples(gradients: bool) -> Iterator[Sample]:
        torch.manual_seed(0)
        for sample in op.sample_inputs("cpu", dtype, requires_grad=gradients):
            yield Sample(sample.input, tuple(sample.args), dict(sample.kwargs))

    return samples


def _lists(op: Any) -> Callable[[bool], Iterator[Sample]]:
    """For _foreach_*: four tensors in each list. The database's would be of twenty sizes."""
    name = op.name.removeprefix("_foreach_")

    def samples(gradients: bool) -> Iterator[Sample]:
        torch.manual_seed(0)

        def tensors() -> list[torch.Tensor]:
            side = database.M
            return [torch.rand(side, side).requires_grad_(gradients) for _ in range(4)]

        others = {"lerp": 2, "addcmul": 2, "addcdiv": 2, "mm": 1}
        count = others.get(name, 1 if op in database.foreach_binary_op_db else 0)
        more: list[Any] = [tensors() for _ in range(count)]
        if name == "lerp":
            more[1] = 0.5
        yield Sample(tensors(), tuple(more))

    return samples


def _dtype(op: Any) -> torch.dtype | None:
    """float32, or the first other dtype that a Mac has."""
    supported = op.supported_dtypes("cpu")
    for dtype in (torch.float32, torch.int64, torch.int32, torch.bool, torch.complex64):
        if dtype in supported:
            return dtype
    return None


def operators() -> dict[str, Operator]:
    found: dict[str, Operator] = {}
    for op in database.op_db:
        dtype = _dtype(op)
        if name_of(op) in NOT_FOR_MPS or dtype is None:
            continue
        differentiable = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
        samples = _from_database(op, dtype)
        name = name_of(op)
        found[name] = Operator(name, op, samples, differentiable, op.is_factory_function)
        if op.inplace_variant is not None and not op.variant_test_name:
            found[name + "_"] = Operator(
                name + "_", op.inplace_variant, samples, differentiable=False, in_place=True
            )
    for table in (n for n in dir(database) if n.startswith("foreach_") and n.endswith("_op_db")):
        for op in getattr(database, table):
            lists = _lists(op)
            found[op.name] = Operator(
                op.name, op, lists, op.supports_autograd and op.name != "_foreach_zero"
            )
            if op.inplace_variant is not None:
                name = op.name + "_"
                found[name] = Operator(name, op.inplace_variant, lists, False, in_place=True)
    return found


@contextmanager
def sizes_times(factor: int) -> Iterator[None]:
    """The database's sizes, multiplied, in every module that knows them."""
    before = []
    for name, module in list(sys.modules.items()):
        if not name.startswith("torch.testing._internal") or "metaprogramming" in name:
            continue
        for size in SIZES:
            value = getattr(module, size, None)
            if type(value) is int:
                before.append((module, size, value))
                setattr(module, size, value * factor)
    try:
        yield
    finally:
        for module, size, value in before:
            setattr(module, size, value)


def works(op: Operator, sample: Sample) -> bool:
    """On the CPU, and without asking for what no Mac has."""
    doubles = (torch.float64, torch.complex128)
    for leaf in tree_leaves((sample.input, sample.args, sample.kwargs)):
        if isinstance(leaf, torch.dtype) and leaf in doubles:
            return False
        if isinstance(leaf, torch.Tensor) and leaf.layout != torch.strided:
            return False
    try:
        copy = sample.on("cpu")
        op.call(copy.input, *copy.args, **copy.kwargs)
    except Exception:
        return False
    return True


def some(op: Operator, gradients: bool = False) -> list[Sample]:
    return list(itertools.islice(op.samples(gradients), LOOK_AT))


def small_sample(op: Operator) -> int | None:
    """The number of the first one that is ordinary and works; else of any that works."""
    found = None
    for number, sample in enumerate(some(op)):
        tensors = sample.tensors()
        plain = all(t.numel() for t in tensors) and any(t.dim() for t in tensors)
        wanted = op.factory or (plain and sample.elements <= SMALL_ELEMENTS)
        if (wanted or found is None) and works(op, sample):
            if wanted:
                return number
            found = number
    return found


def growing_sample(op: Operator) -> int | None:
    """The number of the one that gains most when the sizes double; None if none does."""
    before = [sample.elements for sample in some(op)]
    try:
        with sizes_times(2):
            after = some(op)
    except Exception:  # a size among them that is written as a number
        return None
    best, gain = None, 1.5
    for number, (was, sample) in enumerate(zip(before, after, strict=False)):
        if was and sample.elements > gain * was and works(op, sample):
            best, gain = number, sample.elements / was
    return best


def take(op: Operator, number: int, factor: int, gradients: bool) -> Sample:
    with sizes_times(factor):
        return next(itertools.islice(op.samples(gradients), number, None))


def recipe_for(op: Operator) -> Callable[..., Any] | None:
    return RECIPES.get(op.name) or RECIPES.get(op.name.removesuffix("_") if op.in_place else "")


def from_recipe(op: Operator, factor: int, gradients: bool) -> Sample:
    recipe = recipe_for(op)
    assert recipe is not None
    torch.manual_seed(0)
    arguments, kwargs = recipe(factor)

    def prepare(value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            if hasattr(value, "still"):
                return value
            return value.requires_grad_(gradients and op.differentiable)
        return value

    first, *rest = tree_map(prepare, arguments)
    return Sample(first, tuple(rest), kwargs)


@dataclass(frozen=True)
class Plan:
    """Which sample is the large one: a recipe, or that number with the sizes multiplied."""

    small: int | None  # None: the recipe's smallest
    large: int | None
    factor: int

    def small_sample(self, op: Operator, gradients: bool) -> Sample:
        if self.small is None:
            return from_recipe(op, 1, gradients)
        return take(op, self.small, 1, gradients)

    def large_sample(self, op: Operator, gradients: bool) -> Sample | None:
        if recipe_for(op) is not None:
            return from_recipe(op, self.factor, gradients)
        if self.large is None:
            return None
        return take(op, self.large, self.factor, gradients)


def plan(
    op: Operator, elements: int, seconds: Callable[[Sample], float], most_s: float
) -> Plan | None:
    """Grows until there are as many elements, or until one call would take longer than that."""
    small = small_sample(op)
    by_recipe = recipe_for(op) is not None
    if small is None and not by_recipe:
        return None
    large = None if by_recipe or elements == 0 else growing_sample(op)
    if elements == 0 or (large is None and not by_recipe):
        return Plan(small, None, 1)
    factor = 1
    while factor < 1 << 20:
        try:
            bigger = (
                from_recipe(op, factor * 2, False)
                if by_recipe
                else take(op, large or 0, factor * 2, False)
            )
            if bigger.elements > MOST_ELEMENTS or factor > elements:
                break
            spent = seconds(bigger)
        except Exception:
            break
        if spent > most_s:
            break
        factor *= 2
        if bigger.elements >= elements or spent > most_s / 4:
            break
    return Plan(small, large, factor)
