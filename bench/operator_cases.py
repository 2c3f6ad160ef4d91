"""One operator of PyTorch's database on one device, as functions to be called in a loop.

Four variants: small and large arguments, forward alone and forward with backward.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch.autograd import profiler_legacy
from torch.utils._pytree import tree_leaves

from operator_samples import Operator, Plan, Sample

VARIANTS = ("small", "small+grad", "large", "large+grad")

# What a Mac says of an operator that it lacks, or of arguments that it does not take.
REFUSALS = (
    "is not currently implemented for the MPS device",
    "not implemented for MPS",
    "the MPS framework doesn't support float64",
    "Adaptive pool MPS: ",
    "MPS only supports floats",
    "MPS device does not support",
    "not supported on MPS",
    "not supported by MPS",
)

Call = Callable[[], object]


def is_refusal(error: BaseException) -> bool:
    return any(text in str(error) for text in REFUSALS)


def _events(call: Call) -> list[Any]:
    """The outermost operators of a call, each with those in it."""
    # The older profiler: it has no trace to prepare, which takes long, and prints nothing.
    with warnings.catch_warnings(), profiler_legacy.profile() as profile:
        warnings.simplefilter("ignore")
        call()
    return [event for event in profile.function_events if event.cpu_parent is None]


def _is_operator(event: Any) -> bool:
    return "::" in event.name and not event.name.startswith("profiler::")


def leaves_in(call: Call) -> int:
    """The operators of a call that are made of no others, on any device."""

    def count(event: Any) -> int:
        inner = sum(map(count, event.cpu_children))
        return inner or int(_is_operator(event))

    return sum(map(count, _events(call)))


@functools.cache
def _kernels() -> dict[str, bool]:
    """Names without overload: whether their kernels for mps take arguments on a stack."""
    kernels: dict[str, bool] = {}
    for full in torch._C._dispatch_get_registrations_for_dispatch_key("MPS"):
        lines = torch._C._dispatch_dump(full).splitlines()
        boxed = any(line.startswith("MPS:") and ":: (none)" in line for line in lines)
        name = full.partition(".")[0]
        kernels[name] = kernels.get(name, True) and boxed
    return kernels


def kernels_in(call: Call) -> tuple[int, list[str]]:
    """How many kernels of mps a call runs, and the names of the boxed ones."""
    found: list[str] = []

    def walk(event: Any) -> None:
        if event.name in _kernels():
            found.append(event.name)  # what is in it runs on the device beneath
        else:
            for inner in event.cpu_children:
                walk(inner)

    for event in _events(call):
        walk(event)
    return len(found), [name for name in found if _kernels()[name]]


def _forward(op: Operator, sample: Sample) -> Call:
    call, first, rest, keywords = op.call, sample.input, sample.args, sample.kwargs
    if op.in_place:
        keywords = {name: value for name, value in keywords.items() if name != "out"}
    return lambda: call(first, *rest, **keywords)


def _tensors(results: Any) -> list[torch.Tensor]:
    if isinstance(results, torch.Tensor):
        return [results] if results.requires_grad else []
    leaves = tree_leaves(results)
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def _with_gradients(op: Operator, sample: Sample) -> Call | None:
    inputs = [tensor for tensor in sample.tensors() if tensor.requires_grad]
    forward = _forward(op, sample)
    results = _tensors(forward())
    if not inputs or not results:
        return None
    gradients = [torch.ones_like(result) for result in results]
    grad = torch.autograd.grad
    return lambda: grad(_tensors(forward()), inputs, gradients, allow_unused=True)


def calls(
    op: Operator, plan: Plan, device: str, variants: Collection[str] = VARIANTS
) -> dict[str, Call]:
    """By variant. Raises what the device raises."""
    found: dict[str, Call] = {}

    def add(size: str, make: Callable[[Operator, bool], Sample | None]) -> None:
        sample = make(op, False)
        if sample is None:
            return
        sample = sample.on(device)
        if op.factory:
            sample.kwargs["device"] = device
        call = _forward(op, sample)
        call()
        found[size] = call
        if not op.differentiable:
            return
        sample = make(op, True)
        assert sample is not None
        try:
            with_gradients = _with_gradients(op, sample.on(device))
            if with_gradients is not None:
                with_gradients()
                found[f"{size}+grad"] = with_gradients
        except RuntimeError as error:
            if device == "mps" and not is_refusal(error):
                raise

    for size, make in (("small", plan.small_sample), ("large", plan.large_sample)):
        if size in variants or f"{size}+grad" in variants:
            add(size, make)
    return {variant: call for variant, call in found.items() if variant in variants}
