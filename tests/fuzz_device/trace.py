"""What PyTorch predicts of a program without running it, against what it then does: with fake
tensors, traced with symbolic sizes, exported."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import torch

from .compare import Difference, difference
from .observe import Seen, call, look, run
from .program import Program, Var, tensors_of

WAYS = ("fake", "symbolic", "export")


class NotTraceable(Exception):
    """What comes next depends on numbers that nobody has while tracing."""


def check(program: Program, way: str) -> Difference | None:
    """What goes wrong on the CPU as well is not a difference of ours."""
    with warnings.catch_warnings(), _quiet():
        warnings.simplefilter("ignore")
        found = _differs(program, way, "mps")
        if found is None or _differs(program, way, "cpu") is not None:
            return None
        return found


def _differs(program: Program, way: str, device: str) -> Difference | None:
    if run(program, device).failure is not None:
        return None
    try:
        return {"fake": _fake, "symbolic": _traced, "export": _traced}[way](program, device, way)
    except NotTraceable:
        return None


def _inputs(program: Program, device: str) -> list[torch.Tensor]:
    return [
        given.value.clone().to(device).requires_grad_(given.requires_grad)
        for given in program.inputs
    ]


def _fake(program: Program, device: str, way: str) -> Difference | None:
    from torch._subclasses.fake_tensor import (
        DataDependentOutputException,
        DynamicOutputShapeException,
        FakeTensorMode,
        UnsupportedOperatorException,
    )

    unknown = (
        DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException
    )  # fmt: skip
    real = dict(zip((g.var for g in program.inputs), _inputs(program, device), strict=True))
    mode = FakeTensorMode()
    fake = {var: mode.from_tensor(tensor) for var, tensor in real.items()}
    for number, step in enumerate(program.steps):
        made = tensors_of(call(step, real))
        try:
            with mode:
                predicted = tensors_of(call(step, fake))
        except unknown:
            return None
        except Exception as error:
            return Difference(number, way, f"{type(error).__name__}: {error}"[:300])
        if len(made) != len(predicted):
            return Difference(number, way, f"{len(predicted)} tensors predicted, {len(made)} made")
        for result, guess in zip(made, predicted, strict=True):
            found = difference(_shape(result), _shape(guess))
            if found or result.device != guess.device:
                return Difference(number, way, found[1] if found else f"on {guess.device}")
        real.update(zip(step.results, made, strict=False))
        fake.update(zip(step.results, predicted, strict=False))
    return None


def _shape(tensor: torch.Tensor) -> Seen:
    """flags, versions and memory are not predicted. The stride of a dimension that has one element
    means nothing; compiled code, too, does not look at it."""
    seen = look(tensor, {}, bits=False)
    stride = seen.stride and tuple(
        step if size > 1 and tensor.numel() else 0
        for size, step in zip(seen.size, seen.stride, strict=True)
    )
    return dataclasses.replace(seen, flags=(), version=None, stride=stride)


def _traced(program: Program, device: str, way: str) -> Difference | None:
    function = _function_of(program)
    try:
        graph = _TRACERS[way](function, _inputs(program, device))
    except Exception as error:
        if "data-dependent" in str(error):  # numbers on the CPU are taken as they are, on no GPU
            raise NotTraceable from error
        return Difference(-1, way, f"{type(error).__name__}: {error}"[:300])
    wanted = function(*_inputs(program, device))
    try:
        got = graph(*_inputs(program, device))
    except Exception as error:
        return Difference(-1, way, f"traced, {type(error).__name__}: {error}"[:300])
    if len(wanted) != len(got):
        return Difference(-1, way, f"traced: {len(got)} tensors, {len(wanted)} are made")
    for a, b in zip(wanted, got, strict=True):
        found = difference(_values(a), _values(b), close=(1e-4, 1e-5))
        if found:
            return Difference(-1, way, f"traced: {found[1]}")
    return None


def _values(tensor: torch.Tensor) -> Seen:
    """A graph may return what it made earlier as another tensor, of the same values."""
    seen = look(tensor.detach(), {})
    return dataclasses.replace(seen, flags=(), version=None, alias=None, offset=None)


def _function_of(program: Program) -> Callable[..., list[torch.Tensor]]:
    def run(*inputs: torch.Tensor) -> list[torch.Tensor]:
        variables: dict[Var, torch.Tensor] = dict(
            zip((given.var for given in program.inputs), inputs, strict=True)
        )
        results: list[torch.Tensor] = []
        for step in program.steps:
            made = tensors_of(call(step, variables))
            variables.update(zip(step.results, made, strict=False))
            results += made
        return results

    return run


def _symbolic(function: Callable[..., Any], inputs: list[torch.Tensor]) -> Callable[..., Any]:
    from torch.fx.experimental.proxy_tensor import make_fx

    graph: Callable[..., Any] = make_fx(function, tracing_mode="symbolic")(*inputs)
    return graph


def _exported(function: Callable[..., Any], inputs: list[torch.Tensor]) -> Callable[..., Any]:
    class Module(torch.nn.Module):
        def forward(self, *given: torch.Tensor) -> Any:
            return function(*given)

    sizes = tuple({d: torch.export.Dim.AUTO for d in range(t.dim())} for t in inputs)
    graph: Callable[..., Any] = torch.export.export(
        Module(), tuple(inputs), dynamic_shapes=(sizes,)
    ).module()
    return graph


_TRACERS = {"symbolic": _symbolic, "export": _exported}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """torch logs what it cannot trace."""
    import logging

    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
