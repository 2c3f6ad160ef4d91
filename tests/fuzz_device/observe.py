"""Runs a program on a device and writes down all that can be seen of its tensors."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from .program import Program, Step, Var, bind, resolve, tensors_of, values_of


@dataclass(frozen=True)
class Seen:
    """One tensor. alias: the first variable that has the same memory."""

    dtype: torch.dtype
    size: tuple[int, ...]
    stride: tuple[int, ...] | None
    offset: int | None
    flags: tuple[bool, ...]  # conj, neg, requires_grad
    version: int | None
    alias: Var | None
    bits: torch.Tensor | None  # on the CPU, contiguous; None: not looked at


@dataclass(frozen=True)
class Failure:
    step: int
    kind: str
    text: str


@dataclass
class Outcome:
    """after: what each step made, when it had. end: all variables, when the program was done."""

    after: list[tuple[list[Seen], list[Any]]]
    end: dict[Var, Seen]
    failure: Failure | None = None


def run(program: Program, device: str) -> Outcome:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(program, device)


def _run(program: Program, device: str) -> Outcome:
    variables: dict[Var, torch.Tensor] = {}
    outcome = Outcome([], {})
    try:
        for given in program.inputs:
            moved = given.value.clone() if device == "cpu" else given.value.to(device)
            variables[given.var] = moved.requires_grad_(given.requires_grad)
    except TypeError as error:  # a Mac has no float64
        outcome.failure = Failure(0, type(error).__name__, str(error))
        return outcome
    for number, step in enumerate(program.steps):
        try:
            result = call(step, variables)
            made = tensors_of(result)
            variables.update(zip(step.results, made, strict=False))
            outcome.after.append(([look(t, variables) for t in made], values_of(result)))
        except Exception as error:
            outcome.failure = Failure(number, type(error).__name__, str(error))
            break
    if outcome.failure is None:
        outcome.end = {var: look(t, variables) for var, t in variables.items()}
    return outcome


def call(step: Step, variables: Mapping[Var, torch.Tensor]) -> Any:
    return resolve(step.function)(*bind(step.args, variables), **bind(step.kwargs, variables))


def look(tensor: torch.Tensor, variables: Mapping[Var, torch.Tensor], bits: bool = True) -> Seen:
    plain = tensor.layout == torch.strided and not tensor.is_nested
    detached = tensor.detach()
    copy = None
    if bits:
        dense = detached if plain else detached.to_dense()
        copy = dense.resolve_conj().resolve_neg().to("cpu", copy=True).contiguous()
    alias = None
    if plain and tensor.untyped_storage().nbytes():
        alias = next((var for var, other in variables.items() if _share(tensor, other)), None)
    return Seen(
        dtype=tensor.dtype,
        size=tuple(tensor.size()),
        stride=tuple(tensor.stride()) if plain else None,
        offset=tensor.storage_offset() if plain else None,
        flags=(tensor.is_conj(), tensor.is_neg(), tensor.requires_grad),
        version=None if tensor.is_inference() else tensor._version,
        alias=alias,
        bits=copy,
    )


def _share(tensor: torch.Tensor, other: torch.Tensor) -> bool:
    if other is tensor or other.layout != torch.strided:
        return other is tensor
    return tensor.untyped_storage().data_ptr() == other.untyped_storage().data_ptr()
