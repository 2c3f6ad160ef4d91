"""The smallest program that still shows a difference."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import torch

from .compare import Difference
from .program import Input, Program, Var

Check = Callable[[Program], Difference | None]
_TRIES = 400


def shrink(program: Program, found: Difference, check: Check) -> tuple[Program, Difference]:
    """check: what running a program shows. A smaller one must show the same thing of the same
    function."""
    tries = 0

    def shows_it(smaller: Program) -> Difference | None:
        nonlocal tries
        tries += 1
        if not smaller.steps or tries > _TRIES:
            return None
        now = check(smaller)
        same = now is not None and (now.what, _function(smaller, now)) == wanted
        return now if same else None

    wanted = (found.what, _function(program, found))
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(program, found):
            now = shows_it(smaller)
            if now is not None:
                program, found, changed = smaller, now, True
                break
    return program, found


def _function(program: Program, found: Difference) -> str:
    return program.steps[found.step].function if found.step >= 0 else ""


def _smaller(program: Program, found: Difference) -> Iterator[Program]:
    if 0 <= found.step < len(program.steps) - 1:
        yield replace(program, steps=program.steps[: found.step + 1])
    for step in program.steps:
        yield program.without([step])
    for step in program.steps:
        # What laid out the same values elsewhere: its argument will do.
        for result in step.results[:1]:
            for given in sorted(step.uses(), key=lambda var: var.number):
                yield _with_instead(program.without_only(step), result, given)
    for given in program.inputs:
        if given.requires_grad:
            yield _with_input(program, replace(given, requires_grad=False))
        if given.value.numel() and not bool((given.value == 1).all()):
            yield _with_input(program, replace(given, value=torch.ones_like(given.value)))
    for number, step in enumerate(program.steps):
        for key in step.kwargs:
            fewer = {name: value for name, value in step.kwargs.items() if name != key}
            steps = list(program.steps)
            steps[number] = replace(step, kwargs=fewer)
            yield replace(program, steps=tuple(steps))


def _with_input(program: Program, changed: Input) -> Program:
    inputs = tuple(changed if given.var == changed.var else given for given in program.inputs)
    return replace(program, inputs=inputs)


def _with_instead(program: Program, result: Var, other: Var) -> Program:
    return replace(program, steps=tuple(step.with_instead(result, other) for step in program.steps))
