"""Memory of a process with its children, and of the machine, as Linux tells it."""

from __future__ import annotations

import os
import re
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident_bytes(process: int) -> int:
    """Pages that forked children share with it count once for each."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, IndexError, ValueError):  # ended meanwhile
        return 0
    return pages * _PAGE + sum(resident_bytes(int(child)) for child in children)


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
