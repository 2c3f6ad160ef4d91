"""The folder of the cache: the user's own, or, where that cannot be written to, a temporary one.

Code is loaded from here. So nobody else may write to a folder that we make, whatever the umask
says, and a temporary one, whose place everybody knows, must be the user's alone.
"""

from __future__ import annotations

import contextlib
import functools
import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from openmps.errors import CacheError

FOLDER_MODE = 0o755
_PRIVATE_MODE = 0o700


def make_folder(folder: Path) -> None:
    """With those above it. Raises OSError."""
    try:
        folder.mkdir(mode=FOLDER_MODE)
    except FileNotFoundError:
        if folder.parent == folder:
            raise
        make_folder(folder.parent)
        folder.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except FileExistsError:
        if not folder.is_dir():
            raise


def temporary_cache(*, make: bool = True) -> Path:
    """Raises CacheError if there is none that is safe to use."""
    try:
        folder = Path(tempfile.gettempdir()) / f"openmps-{os.geteuid()}"
        if make:
            with contextlib.suppress(FileExistsError):
                folder.mkdir(mode=_PRIVATE_MODE)
        found = folder.lstat()
    except OSError as error:
        raise _no_folder(str(error)) from error
    if not stat.S_ISDIR(found.st_mode):
        raise _no_folder(f"{folder} is not a folder, or a link to one")
    if found.st_uid != os.geteuid():
        raise _no_folder(f"{folder} belongs to user {found.st_uid}")
    if stat.S_IMODE(found.st_mode) & ~_PRIVATE_MODE & 0o777:
        raise _no_folder(f"others may read or write {folder}")
    return folder


@contextlib.contextmanager
def scratch_folder() -> Iterator[Path]:
    """A temporary folder for what nobody keeps."""
    try:
        # Who is still writing there may go on.
        folder = tempfile.TemporaryDirectory(prefix="openmps-", ignore_cleanup_errors=True)
    except OSError as error:
        raise CacheError(
            "no temporary folder can be made",
            found=str(error),
            next_step="set TMPDIR to a folder that you may write to",
        ) from error
    with folder as name:
        yield Path(name)


def _no_folder(found: str) -> CacheError:
    return CacheError(
        "neither the user's cache folder nor a temporary one can be used",
        found=found,
        next_step="set OPENMPS_CACHE_DIR to a folder that you may write to, and nobody else",
    )


@functools.cache
def tell_temporary(cache: Path | None, why: str, temporary: Path) -> None:
    """Once in a process."""
    text = f"{cache} cannot be written to ({why})" if cache else "there is no home folder"
    with contextlib.suppress(OSError):  # nobody reads it
        print(
            f"openmps: {text}, so what is built goes to {temporary}; "
            "set OPENMPS_CACHE_DIR to a folder that stays",
            file=sys.stderr,
            flush=True,
        )
