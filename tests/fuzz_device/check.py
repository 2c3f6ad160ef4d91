"""One program on both devices: what differs, if anything."""

from __future__ import annotations

import torch

from . import trace
from .compare import Difference, compare, is_explained
from .observe import Outcome, run
from .program import Program


def check(program: Program, *, strict: bool) -> Difference | None:
    return check_run(program, run(program, "mps"), strict=strict)


def check_run(program: Program, on_mps: Outcome, *, strict: bool) -> Difference | None:
    try:
        torch.mps.synchronize()
    except torch.AcceleratorError as late:
        return Difference(-1, "late error", str(late))
    found = compare(program, run(program, "cpu"), on_mps, strict=strict)
    return None if found is None or is_explained(program, found) else found


def check_traced(program: Program, way: str) -> Difference | None:
    found = trace.check(program, way)
    return None if found is None or is_explained(program, found) else found
