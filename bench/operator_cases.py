"""One operator of PyTorch's database on one device, as functions to be called in a loop.

Four variants: small and large arguments, forward alone and forward with backward.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
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


class Names(TorchDispatchMode):
    """The operators that a call is made of, by full name."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.name() != "aten::detach":  # of autograd, and only where somebody watches
            self.seen.append(str(func.name()))
        return func(*args, **(kwargs or {}))


def names_in(call: Call) -> list[str]:
    names = Names()
    with names:
        call()
    return names.seen


def is_boxed(name: str) -> bool:
    """Whether the kernel for mps takes its arguments on a stack."""
    lines = torch._C._dispatch_dump(name).splitlines()
    return any(line.startswith("MPS:") and line.rstrip().endswith("[ boxed ]") for line in lines)


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


def calls(op: Operator, plan: Plan, device: str) -> dict[str, Call]:
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

    add("small", plan.small_sample)
    add("large", plan.large_sample)
    return found
