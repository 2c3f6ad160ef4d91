"""Loads what was built. What no longer loads is built once more."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Protocol, TypeVar

from openmps.build.artifact import is_prebuilt, say
from openmps.errors import CacheError

Loaded = TypeVar("Loaded")


class FindOrBuild(Protocol):
    """prebuilt: whether what came with openmps will do."""

    def __call__(self, *, prebuilt: bool = True) -> Path: ...


# Of the system's loader, about a file that is as it was built.
_NO_MEMORY = ("allocate memory", os.strerror(errno.ENOMEM))
_NOT_HERE = ("failed to map segment", "Operation not permitted", "Permission denied")


def load_built(find_or_build: FindOrBuild, load: Callable[[Path], Loaded]) -> Loaded:
    """Its digest says that a file is what was built, not that it fits what it is loaded beside:
    torch may have been replaced by another build of the same version, and folders of users are
    shared by machines whose C libraries differ.
    """
    library = find_or_build()
    identity = _identity(library)
    try:
        return load(library)
    except (ImportError, OSError) as error:
        if not _is_stale(error):
            raise does_not_load(error) from error
        if is_prebuilt(library):
            say(f"{library.name}, which came with openmps, does not load here: {error}")
        elif not _forget(library, identity):
            raise does_not_load(error) from error
        rebuilt = find_or_build(prebuilt=False)
    try:
        return load(rebuilt)
    except (ImportError, OSError) as error:
        raise does_not_load(error) from error


def _identity(library: Path) -> tuple[int, int]:
    found = library.stat()
    return found.st_ino, found.st_mtime_ns


def _is_stale(error: Exception) -> bool:
    return not any(text in str(error) for text in (*_NO_MEMORY, *_NOT_HERE))


def _forget(library: Path, identity: tuple[int, int]) -> bool:
    """Makes the entry absent, unless another process has built it anew by now."""
    try:
        if _identity(library) == identity:
            (library.parent / "entry.json").unlink()
    except FileNotFoundError:
        pass
    except OSError:
        return False
    return True


def does_not_load(error: Exception) -> CacheError:
    said = str(error)
    # mmap's errno is lost where it fails for want of memory, as where the folder forbids code.
    if any(text in said for text in _NO_MEMORY):
        next_step = "raise the limit on memory (ulimit -v), or end other programs"
    elif any(text in said for text in _NOT_HERE):
        next_step = (
            "set OPENMPS_CACHE_DIR to a folder whose file system may hold programs (not mounted "
            "noexec), or raise the limit on memory (ulimit -v)"
        )
    else:
        next_step = (
            "see `openmps doctor`; reinstall torch if it was changed by hand, or report this"
        )
    return CacheError("what openmps has built cannot be loaded", found=said, next_step=next_step)
