"""Memory of a process with its children, and of the machine, as Linux tells it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(process: int) -> int:
    """Pages that forked children share with it count once for each."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError, ValueError):  # ended meanwhile
        return 0
    return pages * _PAGE + sum(resident_bytes(child) for child in _children(process))


def _children(process: int) -> Iterator[int]:
    """Linux keeps them by the thread that started them."""
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            yield from map(int, thread.read_text().split())


def available_bytes() -> int:
    match = re.search(r"MemAvailable:\s*(\d+) kB", Path("/proc/meminfo").read_text())
    assert match is not None
    return int(match[1]) << 10


def reset_peak() -> None:
    """Of this process."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_bytes() -> int:
    """Of this process, since the last reset."""
    match = re.search(r"VmHWM:\s*(\d+) kB", Path("/proc/self/status").read_text())
    return int(match[1]) << 10 if match else 0


def kill_this_one_first() -> None:
    """Should the machine run out of memory after all, the kernel ends this process."""
    Path("/proc/self/oom_score_adj").write_text("1000")
