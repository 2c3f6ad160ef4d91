"""Compiles chosen kernels of a corpus, in several processes, and tells what became of each file."""

from __future__ import annotations

import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

from corpus.instances import representatives
from corpus.sources import Corpus, library
from openmps.errors import OpenmpsError
from openmps.targets.cpu import CpuTarget
from openmps.targets.cpu_runtime import Style

_CHUNK = 16


@dataclass
class FileResult:
    file: str
    functions: int = 0
    names: int = 0
    compiled: int = 0
    seconds: float = 0.0
    styles: Counter[str] = field(default_factory=Counter)
    fallbacks: dict[str, str] = field(default_factory=dict)  # kernel -> why not lanes
    failures: dict[str, str] = field(default_factory=dict)  # kernel -> first line of the error


def compile_corpus(
    corpus: Corpus, pool: Executor, *, pattern: str, most_per_function: int
) -> Iterator[FileResult]:
    """In the order of the files; each yielded as soon as it and those before it are done."""
    pending = []
    for file in corpus.files(pattern):
        result = FileResult(str(file.relative_to(corpus.root / corpus.kernels)))
        chunks = []
        began = time.monotonic()
        try:
            parsed = library(corpus, file)
        except OpenmpsError as error:
            if not corpus.must_be_refused(file):
                result.failures["(reading)"] = first_line(error)
            else:
                result.styles["refused, as it must be"] += 1
            parsed = None
        if parsed is not None:
            if corpus.must_be_refused(file):
                result.failures["(reading)"] = "should have been refused"
            result.seconds += time.monotonic() - began
            result.names = len(parsed.kernels)
            result.functions = len({kernel.place for kernel in parsed.kernels.values()})
            names = representatives(parsed.kernels.values(), most_per_function)
            chunks = [
                pool.submit(compile_kernels, corpus, file, names[at : at + _CHUNK])
                for at in range(0, len(names), _CHUNK)
            ]
        pending.append((result, chunks))
    for result, chunks in pending:
        for chunk in chunks:
            _add(result, chunk.result())
        yield result


def _add(whole: FileResult, part: FileResult) -> None:
    whole.compiled += part.compiled
    whole.seconds += part.seconds
    whole.styles.update(part.styles)
    whole.fallbacks.update(part.fallbacks)
    whole.failures.update(part.failures)


def compile_kernels(corpus: Corpus, file: Path, names: list[str]) -> FileResult:
    """Runs in a worker process."""
    result = FileResult(file.name)
    began = time.monotonic()
    parsed = library(corpus, file)
    target = CpuTarget()
    for name in names:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                kernel = target.kernel(parsed, name)
            except Exception as error:
                result.failures[name] = first_line(error)
                continue
        result.compiled += 1
        result.styles[_style(kernel.style, parsed.kernels[name].coordinates)] += 1
        for warning in caught:
            if "fibre" in str(warning.message):
                result.fallbacks[name] = str(warning.message).rpartition("slow: ")[2]
    result.seconds = time.monotonic() - began
    return result


def _style(style: Style, coordinates: bool) -> str:
    if style is Style.SIMDGROUPS:
        return "lanes"
    if style is Style.THREADS:
        return "fibres"
    return "loop, though it looked coordinated" if coordinates else "loop"


def first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    telling = next((line for line in lines if "error" in line), lines[0] if lines else "")
    return f"{type(error).__name__}: {telling}"[:300]
