"""A program: inputs, and steps that make tensors of earlier ones. It prints itself as Python."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

# Up to so many elements the values are printed; of larger inputs only how they were made.
PRINTED_ELEMENTS = 64


@dataclass(frozen=True)
class Var:
    number: int

    def __repr__(self) -> str:
        return f"v{self.number}"


@dataclass(frozen=True)
class OnesLike:
    """The usual gradient of a result."""

    of: Var

    def __repr__(self) -> str:
        return f"torch.ones_like({self.of})"


@dataclass(frozen=True)
class OnCpu:
    """A number that stays on the CPU, as PyTorch allows."""

    value: torch.Tensor

    def __repr__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True)
class Step:
    """function: an expression for what is called. results: a variable for each tensor it gives."""

    function: str
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    results: tuple[Var, ...] = ()

    def uses(self) -> set[Var]:
        return {leaf for leaf in _leaves((self.args, self.kwargs)) if isinstance(leaf, Var)} | {
            leaf.of for leaf in _leaves((self.args, self.kwargs)) if isinstance(leaf, OnesLike)
        }

    def with_instead(self, var: Var, other: Var) -> Step:
        """The same with another variable in the place of one."""
        args = _exchange(self.args, var, other)
        return Step(self.function, args, _exchange(dict(self.kwargs), var, other), self.results)

    def __str__(self) -> str:
        call = _call(self.function, self.args, self.kwargs)
        if not self.results:
            return call
        if len(self.results) == 1:
            return f"{self.results[0]} = {call}"
        return f"{', '.join(map(str, self.results))} = tensors_of({call})"


@dataclass(frozen=True)
class Input:
    var: Var
    value: torch.Tensor  # on the CPU, contiguous
    requires_grad: bool = False

    def __str__(self) -> str:
        grad = ".requires_grad_()" if self.requires_grad else ""
        return f"{self.var} = {_expression(self.value)}.to(device){grad}"


@dataclass(frozen=True)
class Program:
    inputs: tuple[Input, ...]
    steps: tuple[Step, ...]
    name: str = ""  # how to make it again

    def __str__(self) -> str:
        used = {var for step in self.steps for var in step.uses()}
        inputs = [str(given) for given in self.inputs if given.var in used]
        return "\n".join([*inputs, *map(str, self.steps)])

    def without(self, removed: Sequence[Step]) -> Program:
        """Also without what needs their results, and inputs that nobody uses any more."""
        kept: list[Step] = []
        lost: set[Var] = set()
        for step in self.steps:
            if step in removed or step.uses() & lost:
                lost |= set(step.results)
            else:
                kept.append(step)
        used = {var for step in kept for var in step.uses()}
        inputs = tuple(given for given in self.inputs if given.var in used)
        return Program(inputs, tuple(kept), self.name)

    def without_only(self, removed: Step) -> Program:
        """With those that need its results, which must then be given others."""
        return Program(self.inputs, tuple(s for s in self.steps if s is not removed), self.name)


@functools.cache
def database() -> dict[str, Any]:
    """PyTorch's operators by name, with "name.variant" for variants."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from torch.testing._internal.common_methods_invocations import op_db
    return {".".join(filter(None, (op.name, op.variant_test_name))): op for op in op_db}


@functools.cache
def resolve(function: str) -> Callable[..., Any]:
    found: Callable[..., Any] = eval(function, {"torch": torch, "op_db": _Database()})
    return found


def tensors_of(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in _leaves(result) if isinstance(leaf, torch.Tensor)]


def values_of(result: Any) -> list[Any]:
    """What else a result holds: numbers, sizes, dtypes."""
    plain = (bool, int, float, complex, str, torch.dtype)
    return [leaf for leaf in _leaves(result) if isinstance(leaf, plain)]


def bind(value: Any, variables: Mapping[Var, torch.Tensor]) -> Any:
    """`value` with tensors for its variables."""
    if isinstance(value, Var):
        return variables[value]
    if isinstance(value, OnesLike):
        return torch.ones_like(variables[value.of])
    if isinstance(value, OnCpu):
        return value.value
    if isinstance(value, Mapping):
        return {key: bind(part, variables) for key, part in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(bind(part, variables) for part in value))
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        return type(value)(bind(part, variables) for part in value)
    return value


class _Database:
    def __getitem__(self, name: str) -> Any:
        return database()[name]


def _exchange(value: Any, var: Var, other: Var) -> Any:
    if isinstance(value, Var):
        return other if value == var else value
    if isinstance(value, OnesLike):
        return OnesLike(other) if value.of == var else value
    if isinstance(value, dict):
        return {key: _exchange(part, var, other) for key, part in value.items()}
    if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        parts = [_exchange(part, var, other) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    return value


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for part in value.values():
            yield from _leaves(part)
    elif isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
        for part in value:
            yield from _leaves(part)
    else:
        yield value


def _call(function: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    if function == "torch.Tensor.__getitem__":
        return f"{args[0]}[{_index(args[1])}]"
    if function == "torch.Tensor.__setitem__":
        return f"{args[0]}[{_index(args[1])}] = {_text(args[2])}"
    given = [_text(arg) for arg in args] + [f"{key}={_text(arg)}" for key, arg in kwargs.items()]
    method = function.removeprefix("torch.Tensor.")
    if method != function and method.isidentifier() and args:
        return f"{given[0]}.{method}({', '.join(given[1:])})"
    return f"{function}({', '.join(given)})"


def _text(value: Any) -> str:
    if isinstance(value, float):
        return repr(value) if value - value == 0 else f"float('{value}')"
    if isinstance(value, torch.Size):
        return repr(tuple(value))
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        return f"({''.join(_text(part) + ', ' for part in value).rstrip()})"
    return repr(value)


def _index(index: Any) -> str:
    if isinstance(index, tuple):
        return ", ".join(map(_index, index)) or "()"
    if isinstance(index, slice):
        parts = ["" if part is None else repr(part) for part in (index.start, index.stop)]
        return ":".join([*parts, *([] if index.step is None else [repr(index.step)])])
    return "..." if index is Ellipsis else _text(index)


def _expression(value: torch.Tensor) -> str:
    if value.numel() > PRINTED_ELEMENTS:
        return f"make({tuple(value.shape)}, {value.dtype})"
    if value.numel() == 0:
        return f"torch.empty({tuple(value.shape)}, dtype={value.dtype})"
    return f"torch.tensor({value.tolist()}, dtype={value.dtype})".replace("nan", "float('nan')")
