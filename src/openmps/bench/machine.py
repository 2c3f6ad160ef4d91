"""What this machine has for a benchmark: memory that is free, and a name for its processor."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from pathlib import Path


def available_bytes(root: Path = Path("/")) -> int:
    """What can be taken without swapping: of the machine, and of this container's share."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", _read(root / "proc/meminfo"), re.M)
    free = int(found[1]) * 1024 if found else _physical_bytes()
    group = root / "sys/fs/cgroup"
    limit, used = _read(group / "memory.max").strip(), _read(group / "memory.current").strip()
    if limit.isdigit() and used.isdigit():
        free = min(free, max(0, int(limit) - int(used)))
    return free


def keep_memory() -> None:
    """From now on this process keeps what it frees. glibc gives large memory back to the system at
    once, and takes it again page by page: whether a step waits for that, and how long, is luck."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return  # not glibc
    trim_threshold, most_mappings = -1, -4
    mallopt(most_mappings, 0)
    mallopt(trim_threshold, 2**31 - 1)


def processor(root: Path = Path("/")) -> str:
    found = re.search(r"^model name\s*:\s*(.+)$", _read(root / "proc/cpuinfo"), re.M)
    return found[1].strip() if found else platform.processor() or platform.machine()


def _physical_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
