"""Finds and runs the machine's C++ compiler. Argument lists only, never a shell."""

from __future__ import annotations

import errno
import os
import re
import selectors
import shutil
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from openmps import settings
from openmps.build.disk import full_disk, full_disk_said
from openmps.errors import CompileError, CompilerNotFound, OpenmpsError, OutOfResources

CANDIDATES = ("c++", "g++", "clang++")
_NO_MEMORY = (
    r"Cannot allocate memory|out of memory|memory exhausted|bad_alloc|Killed signal|"
    r"Resource temporarily unavailable"
)


_QUOTED = re.compile(r"^ *\d* \|.*\n?", re.M)  # lines of the source


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
    _run_all(commands, workspace)
    _run_all([link], workspace)
    return library


def _run_all(commands: Sequence[list[str]], workspace: Path) -> None:
    """As many at once as there are cores. Without threads, which a limit may forbid."""
    waiting = list(commands)
    running: list[subprocess.Popen[bytes]] = []
    said: dict[int, bytes] = {}
    with selectors.DefaultSelector() as messages:
        try:
            while waiting or running:
                while waiting and len(running) < (os.cpu_count() or 1):
                    process = _start(waiting.pop(0), workspace)
                    running.append(process)
                    assert process.stderr is not None
                    messages.register(process.stderr, selectors.EVENT_READ, process)
                for key, _ in messages.select():
                    part = os.read(key.fd, 1 << 16)
                    said[key.fd] = said.get(key.fd, b"") + part
                    if part:
                        continue
                    messages.unregister(key.fileobj)
                    running.remove(key.data)
                    with key.data:
                        key.data.wait()
                    _check(key.data, said.pop(key.fd).decode(errors="replace"), workspace)
        finally:
            # Reached early only by a failure or Ctrl-C: do not wait for the other files then.
            for process in running:
                process.terminate()
            for process in running:
                with process:
                    process.wait()


def _start(command: list[str], workspace: Path) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment(workspace),
        )
    except OSError as error:
        if (lacking := machine_lacks(1, str(error), workspace)) is not None:
            raise lacking from error
        raise CompilerNotFound(
            "the C++ compiler does not run",
            found=f"{command[0]}: {error.strerror}",
            next_step="see whether it runs by hand, or set OPENMPS_CXX to another",
        ) from error


def environment(workspace: Path) -> dict[str, str]:
    """For a compiler: what it writes besides goes to the workspace, and it speaks English."""
    return {**os.environ, "LC_ALL": "C", "TMPDIR": str(workspace)}


def _check(process: subprocess.Popen[bytes], messages: str, workspace: Path) -> None:
    if process.returncode == 0:
        return
    command = cast("list[str]", process.args)[0]
    if (lacking := machine_lacks(process.returncode, messages, workspace)) is not None:
        raise lacking
    raise CompileError(
        "the C++ compiler refused openmps' device core",
        found=first_error(messages) or f"exit status {process.returncode} from {command}",
        next_step="see the compiler and torch versions in `openmps doctor`, and report this",
    )


def machine_lacks(status: int, messages: str, workspace: Path) -> OpenmpsError | None:
    """What to raise for a compiler that failed for want of room on the disk, or of memory."""
    messages = _QUOTED.sub("", messages)
    full = full_disk_said(workspace, messages)
    if full is not None or status == -signal.SIGXFSZ:
        return full or full_disk(workspace, OSError(errno.EFBIG, ""))
    if status == -signal.SIGKILL or re.search(_NO_MEMORY, messages):
        return OutOfResources(
            "the compiler did not get the memory or the processes that it needs",
            found=first_error(messages) or f"it was ended by signal {-status}",
            next_step="raise the limits (ulimit -v, ulimit -u), end other programs, or build on a "
            "larger machine and copy the cache folder",
        )
    return None


def first_error(messages: str) -> str:
    """The first line of a compiler's output that is an error, without its page of notes."""
    for line in messages.splitlines():
        if re.search(r"\b(fatal )?error\b|undefined reference|cannot find", line):
            return line.strip()
    return messages.strip().partition("\n")[0]
