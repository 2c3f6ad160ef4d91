"""One line on stderr for what takes long. On a terminal it counts the seconds."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import TextIO

_EVERY_S = 1.0


@contextlib.contextmanager
def elapsing(text: str, stream: TextIO | None = None) -> Iterator[None]:
    """The line is `text` and then "done in 30 s" or "failed"."""
    out = sys.stderr if stream is None else stream
    begin = time.monotonic()
    over = threading.Event()
    ticking: threading.Thread | None = None
    _say(out, text)
    if out.isatty():
        ticking = _start_ticking(out, text, begin, over)
    how = "failed"
    try:
        yield
        how = f"done in {time.monotonic() - begin:.0f} s"
    finally:
        over.set()
        if ticking:
            ticking.join()
            _say(out, f"\r\033[K{text}")
        _say(out, f"{how}\n")


def _start_ticking(
    out: TextIO, text: str, begin: float, over: threading.Event
) -> threading.Thread | None:
    ticking = threading.Thread(target=_tick, args=(out, text, begin, over), daemon=True)
    try:
        ticking.start()
    except RuntimeError:  # no more threads (ulimit -u)
        return None
    return ticking


def _tick(out: TextIO, text: str, begin: float, over: threading.Event) -> None:
    while not over.wait(_EVERY_S):
        _say(out, f"\r\033[K{text}{time.monotonic() - begin:.0f} s")


def _say(out: TextIO, text: str) -> None:
    with contextlib.suppress(OSError):  # a build is not to fail because nobody reads this
        out.write(text)
        out.flush()
