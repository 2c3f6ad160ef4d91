"""Runs programs in a process that may crash or hang.

    python -m fuzz_device.worker FIRST COUNT WAY [OPERATOR...]

WAY: "run", "threads", "fake", "symbolic" or "export". A line of JSON for each program: its seed
before it runs, and what was found after.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import torch

from .check import check, check_run, check_traced
from .compare import Difference
from .generate import generate, names
from .observe import run
from .program import Program
from .shrink import shrink

THREADS = 8


def main() -> None:
    first, count, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    strict = os.environ.get("OPENMPS_STRICT", "1") != "0"
    operators = [name for name in names() if any(part in name for part in sys.argv[4:])]
    for seed in range(first, first + count):
        tell(seed=seed)
        for program, found in look(seed, way, operators, strict=strict):
            tell(found=report(program, found, way, strict=strict))
    tell(done=True)


def look(
    seed: int, way: str, operators: list[str], *, strict: bool
) -> Iterator[tuple[Program, Difference]]:
    if way == "threads":
        seeds = range(seed * THREADS, (seed + 1) * THREADS)
        yield from look_at_many([generate(each, operators) for each in seeds], strict=strict)
        return
    program = generate(seed, operators)
    found = check(program, strict=strict) if way == "run" else check_traced(program, way)
    if found is not None:
        yield program, found


def look_at_many(programs: list[Program], *, strict: bool) -> Iterator[tuple[Program, Difference]]:
    """At once on mps, each in a thread of its own."""
    with ThreadPoolExecutor(THREADS) as pool:
        outcomes = list(pool.map(lambda program: run(program, "mps"), programs))
    for program, outcome in zip(programs, outcomes, strict=True):
        found = check_run(program, outcome, strict=strict)
        if found is not None:
            yield program, found


def report(program: Program, found: Difference, way: str, *, strict: bool) -> dict[str, str]:
    def again(smaller: Program) -> Difference | None:
        if way in ("run", "threads"):
            return check(smaller, strict=strict)
        return check_traced(smaller, way)

    repeated = again(program)
    if repeated is None:
        text = f"{program}\n# once: {found.text}"
        return {"what": "not again", "name": program.name, "text": text}
    smaller, found = shrink(program, repeated, again)
    text = f"{smaller}\n# {found.what}: {found.text}"
    return {"what": found.what, "name": program.name, "text": text}


def tell(**what: object) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
