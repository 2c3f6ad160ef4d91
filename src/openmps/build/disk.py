"""A disk that is full, as an exception or in a compiler's words, becomes one error."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

from openmps.errors import CacheError

# A quota, and a limit on the size of files (ulimit -f), end a write as a full disk does.
_FULL = {
    errno.ENOSPC: "No space left on device",
    errno.EDQUOT: "Disk quota exceeded",
    errno.EFBIG: "File too large",
}
_KILLED = "File size limit exceeded"  # what compilers die of under ulimit -f


def full_disk(folder: Path, error: OSError) -> CacheError | None:
    """What to raise for `error`, which came while writing to `folder`; None if it is another."""
    said = _FULL.get(error.errno or 0)
    return _no_room(folder, said) if said else None


def full_disk_said(folder: Path, messages: str) -> CacheError | None:
    """The same for what a compiler said that wrote to `folder`."""
    return next((_no_room(folder, t) for t in (*_FULL.values(), _KILLED) if t in messages), None)


def _no_room(folder: Path, said: str) -> CacheError:
    try:
        free = f", {shutil.disk_usage(folder).free / 1e6:.1f} MB free"
    except OSError:
        free = ""
    return CacheError(
        "no room in the cache folder for what openmps builds",
        found=f"{folder}: {said}{free}",
        next_step="make room there (50 MB is enough for the device core, 2 MB for a Metal "
        "kernel), or set OPENMPS_CACHE_DIR to a folder that has it",
    )
