"""Files that commands write their reports to. "-" is standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from openmps.errors import OpenmpsError

STDOUT = Path("-")


def check_writable(*files: Path | None) -> None:
    """Before a program runs for an hour. Leaves no trace of itself."""
    for file in files:
        if file is None or file == STDOUT:
            continue
        try:
            _try_to_open(file)
        except OSError as error:
            raise OpenmpsError(
                "the report cannot be written there",
                found=f"{file}: {error.strerror or error}",
                next_step="name a file in a folder that exists and that you may write to",
            ) from error


def _try_to_open(file: Path) -> None:
    if os.path.exists(file) and not os.path.isfile(file) and not os.path.isdir(file):
        return  # a device, or a pipe that somebody is yet to read
    is_new = not os.path.lexists(file)
    with open(file, "ab"):
        pass
    if is_new:
        os.unlink(file)


def write(file: Path | None, text: str) -> bool:
    """Whether that went well; nothing is raised, so that what follows is still done."""
    if file is None:
        return True
    try:
        if file == STDOUT:
            sys.stdout.write(text)
            sys.stdout.flush()
        else:
            file.write_text(text, encoding="utf-8")
    except OSError as failure:
        tell(f"openmps: the report could not be written: {file}: {failure.strerror or failure}")
        if file.is_file():  # half of it, which nothing reads
            with contextlib.suppress(OSError):
                file.unlink()
        return False
    return True


def tell(text: str) -> None:
    """On stderr, unless nobody reads it any more."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr, flush=True)


@contextlib.contextmanager
def unless_nobody_reads() -> Iterator[None]:
    """Around what is printed (`| head`): what follows is still done. rich exits in such a case."""
    try:
        yield
    except (BrokenPipeError, SystemExit):
        flush_quietly()


def flush_quietly() -> None:
    """What nobody reads any more (`| head`) is dropped, here and when Python ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
