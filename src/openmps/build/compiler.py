"""Finds and runs the machine's C++ compiler. Argument lists only, never a shell."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path

from openmps import settings
from openmps.errors import CompileError, CompilerNotFound

CANDIDATES = ("c++", "g++", "clang++")


@dataclass(frozen=True)
class Compiler:
    path: str

    def version(self) -> str:
        try:
            command = [self.path, "--version"]
            out = subprocess.run(command, capture_output=True, text=True, timeout=20)
        except (OSError, subprocess.SubprocessError) as error:
            return f"does not run: {error}"
        return out.stdout.partition("\n")[0].strip() or "unknown version"


def find_compiler() -> Compiler:
    chosen = settings.CXX.read()
    for candidate in (chosen,) if chosen else CANDIDATES:
        path = shutil.which(candidate)
        if path:
            return Compiler(path)
    raise CompilerNotFound(
        "no C++ compiler: openmps needs one, once, to build its device core",
        found=f"OPENMPS_CXX={chosen!r} does not exist"
        if chosen
        else f"none of {', '.join(CANDIDATES)} on PATH, OPENMPS_CXX not set",
        next_step="install g++ 11 or newer (apt-get install g++), or set OPENMPS_CXX, "
        "then run `openmps doctor`",
    )


@dataclass(frozen=True)
class Job:
    """One shared library: its translation units, and the flags to compile and link them with.

    A unit is a list of sources that are compiled as one text: headers that take seconds to parse
    are then parsed once per unit and not once per source.
    """

    units: Sequence[Sequence[Path]]
    compile_flags: Sequence[str]
    link_flags: Sequence[str]


def build_library(compiler: Compiler, job: Job, workspace: Path, name: str) -> Path:
    """Compiles in parallel, links, and returns the library in `workspace`."""
    texts = [workspace / f"unit{number}.cpp" for number in range(len(job.units))]
    for text, sources in zip(texts, job.units, strict=True):
        text.write_text("".join(f'#include "{source}"\n' for source in sources))
    objects = [text.with_suffix(".o") for text in texts]
    commands = [
        [compiler.path, *job.compile_flags, "-c", str(text), "-o", str(out)]
        for text, out in zip(texts, objects, strict=True)
    ]
    library = workspace / name
    link = [compiler.path, "-shared", "-o", str(library), *map(str, objects), *job.link_flags]
    running: list[subprocess.Popen[str]] = []
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = [pool.submit(_run, command, running) for command in commands]
        try:
            wait(futures, return_when=FIRST_EXCEPTION)
            for future in futures:
                if future.done():
                    future.result()
        finally:
            # Reached early only by a failure or Ctrl-C: do not wait for the other files then.
            for future in futures:
                future.cancel()
            for process in running:
                process.terminate()
    _run(link, running)
    return library


def _run(command: list[str], running: list[subprocess.Popen[str]]) -> None:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    running.append(process)
    try:
        _, messages = process.communicate()
    finally:
        running.remove(process)
    if process.returncode != 0:
        raise CompileError(
            "the C++ compiler refused openmps' device core",
            found=first_error(messages) or f"exit status {process.returncode} from {command[0]}",
            next_step="see the compiler and torch versions in `openmps doctor`, and report this",
        )


def first_error(messages: str) -> str:
    """The first line of a compiler's output that is an error, without its page of notes."""
    for line in messages.splitlines():
        if re.search(r"\b(fatal )?error\b|undefined reference|cannot find", line):
            return line.strip()
    return messages.strip().partition("\n")[0]
