"""Damaged shaders must compile or be refused with ShaderSyntaxError, in good time. Nothing is run.

A few run as tests (test_fuzz.py), any number with scripts/fuzz-shaders, which saves what it finds.
"""

from __future__ import annotations

import functools
import os
import signal
import tempfile
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import Pool
from pathlib import Path

from openmps.build.shader_compiler import find_shader_compiler
from openmps.errors import ShaderSyntaxError
from openmps.msl.library import parse_library
from openmps.targets.cpu import CpuTarget
from openmps.targets.cpu_builder import Builder, CpuOptions

from .mutate import mutated

LONGEST_S = 30


@functools.cache
def sources() -> tuple[str, ...]:
    """The good ones of this folder that need no other file."""
    found = sorted(Path(__file__).parent.glob("*/*.metal"))
    return tuple(p.read_text() for p in found if p.parent.name not in ("errors", "includes"))


class TookTooLong(Exception):
    pass


@contextmanager
def time_limit(seconds: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TookTooLong

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def attempt(source: str) -> tuple[str, str]:
    """What became of it (compiled, refused or finding), and for a finding what happened."""
    # Lanes as they are shipped. Loading would run what a damaged program initialises: build only.
    options = CpuOptions()
    try:
        with time_limit(LONGEST_S), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            library = parse_library(source)
            CpuTarget(options).open(library)
            for kernel in list(library.kernels.values())[:1]:
                Builder(library, find_shader_compiler(), options).find_or_build(kernel, "x")
    except ShaderSyntaxError as error:
        text = str(error)
        if ": error: " not in text or "  next: " not in text:
            return "finding", f"the message lacks its shape:\n{text}"
        return "refused", text
    except BaseException:
        return "finding", traceback.format_exc()
    return "compiled", ""


def attempt_seed(seed: int) -> tuple[int, str, str, str]:
    source = mutated(sources(), seed)
    return seed, *attempt(source), source


def main(count: int, first: int, processes: int) -> int:
    folder = Path(tempfile.mkdtemp(prefix="openmps-fuzz-"))
    # What damaged shaders build is of no use to anybody: not in the user's cache.
    os.environ["OPENMPS_CACHE_DIR"] = str(folder / "cache")
    attempt(sources()[0])
    outcomes: Counter[str] = Counter()
    with Pool(processes) as pool:
        seeds = range(first, first + count)
        for seed, outcome, what, source in pool.imap_unordered(attempt_seed, seeds, chunksize=4):
            outcomes[outcome] += 1
            if outcome == "finding":
                (folder / f"{seed}.metal").write_text(source)
                (folder / f"{seed}.txt").write_text(what)
                print(f"seed {seed}: {what.strip().splitlines()[-1]}", flush=True)
            if sum(outcomes.values()) % 500 == 0:
                print(dict(outcomes), flush=True)
    print(f"{count} sources from seed {first}: {dict(outcomes)}; findings are in {folder}")
    return 1 if outcomes["finding"] else 0
