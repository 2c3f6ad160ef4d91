"""Built files under a key, in the user's cache. Knows nothing about compilers.

    <cache>/<kind>/<key>/<name>        the file
    <cache>/<kind>/<key>/entry.json    its digest and how it was made
    <cache>/<kind>/<key>.lock          held while building; the system drops it if the holder dies

An entry appears by renaming a finished folder, so it is whole or absent. One whose file does not
match its digest is treated as absent. To find an entry, nothing is written and no lock is taken.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import secrets
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from openmps import settings
from openmps.build.cache import FOLDER_MODE, make_folder, tell_temporary, temporary_cache
from openmps.build.disk import full_disk
from openmps.errors import CacheError

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
_NO_LOCKS_HERE = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)  # network folders
_THERE_ALREADY = (errno.EEXIST, errno.ENOTEMPTY)


def user_store(kind: str) -> Store:
    """In the folder that the settings name. Only the user's own gives way to a temporary one."""
    return Store(settings.cache_dir(), kind, or_temporary=not settings.CACHE_DIR.read())


class Store:
    def __init__(self, cache: Path | None, kind: str, *, or_temporary: bool = False) -> None:
        """or_temporary: whether what cannot be written to `cache` goes to a temporary one."""
        assert cache or or_temporary
        self._cache = cache
        self.kind = kind
        self._or_temporary = or_temporary
        # Where entries are made; known when the first one is.
        self._folder = cache / kind if cache else Path()

    def find(self, key: str, name: str) -> Path | None:
        """The file, or None if there is none or it is damaged."""
        found = _intact(self._cache / self.kind / key / name) if self._cache else None
        if found or not self._or_temporary:
            return found
        try:
            return _intact(temporary_cache(make=False) / self.kind / key / name)
        except CacheError:  # told when something is to be written
            return None

    @contextlib.contextmanager
    def workspace(self, key: str) -> Iterator[Path]:
        """An empty folder to build in, gone afterwards. Call with the lock held."""
        with _explained(self._folder):
            folder = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=self._folder))
        try:
            yield folder
        except OSError as error:
            if (full := full_disk(folder, error)) is not None:
                raise full from error
            raise
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, key: str, name: str, built: Path, facts: dict[str, object]) -> Path:
        """Moves `built`, a file in a workspace, to its place. Call with the lock held."""
        finished = self._folder / f".{key}-{secrets.token_hex(4)}"
        with _explained(self._folder):
            try:
                finished.mkdir(mode=FOLDER_MODE)  # others may share what is in the cache
                entry = {"sha256": hashlib.sha256(built.read_bytes()).hexdigest(), **facts}
                os.replace(built, finished / name)
                (finished / "entry.json").write_text(json.dumps(entry, indent=2))
                for file in finished.iterdir():
                    file.chmod(stat.S_IMODE(file.stat().st_mode) & ~_OTHERS_WRITE)
                return self._put(finished, key, name)
            finally:
                shutil.rmtree(finished, ignore_errors=True)

    @contextlib.contextmanager
    def lock(self, key: str, waiting: Callable[[], None]) -> Iterator[None]:
        """Keeps other processes from building `key`. Calls `waiting` once if one already is."""
        import fcntl

        handle = self._open_lock(key)
        try:
            if _acquire(handle, waiting):
                self._sweep(key)
            yield
        finally:
            # A child that was forked meanwhile has the handle, too: closing ours is not enough.
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_UN)
            os.close(handle)

    def writable_cache(self) -> tuple[Path, str]:
        """Where new entries go; if that is not where they should, why. Raises CacheError."""
        why = ""
        if self._cache:
            try:
                _make_writable(self._cache / self.kind)
                return self._cache, ""
            except OSError as error:
                if not self._or_temporary or full_disk(self._cache, error):
                    raise _unwritable(self._cache, error) from error
                why = error.strerror or str(error)
        temporary = temporary_cache()
        with _explained(temporary):
            _make_writable(temporary / self.kind)
        return temporary, why

    def _put(self, finished: Path, key: str, name: str) -> Path:
        final = self._folder / key
        while True:
            try:
                os.replace(finished, final)
                return final / name
            except OSError as error:
                if error.errno not in _THERE_ALREADY:
                    raise
            # Where there are no locks, another process may have been faster.
            if (theirs := _intact(final / name)) is not None:
                return theirs
            # Damaged. Moved aside before it is removed: readers see no half.
            aside = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=self._folder))
            with contextlib.suppress(FileNotFoundError):
                os.replace(final, aside)
            shutil.rmtree(aside, ignore_errors=True)

    def _open_lock(self, key: str) -> int:
        cache, why = self.writable_cache()
        if cache != self._cache:
            tell_temporary(self._cache, why, cache)
        self._folder = cache / self.kind
        flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
        with _explained(self._folder):
            return os.open(self._folder / f"{key}.lock", flags, 0o644)

    def _sweep(self, key: str) -> None:
        """Removes what killed builds of this key left behind."""
        # No glob: Python remembers thousands of patterns.
        for name in os.listdir(self._folder):
            if name.startswith(f".{key}-"):
                shutil.rmtree(self._folder / name, ignore_errors=True)


def _intact(file: Path) -> Path | None:
    """The file, if its digest is right."""
    try:
        entry = json.loads((file.parent / "entry.json").read_bytes())
        intact = entry["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return file if intact else None


def _make_writable(folder: Path) -> None:
    make_folder(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))


def _acquire(handle: int, waiting: Callable[[], None]) -> bool:
    """False where the file system has no locks: then who is last to finish has built in vain."""
    import fcntl

    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:
        if error.errno not in _NO_LOCKS_HERE:
            raise
        return False
    return True


@contextlib.contextmanager
def _explained(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _unwritable(folder, error) from error


def _unwritable(folder: Path, error: OSError) -> CacheError:
    return full_disk(folder, error) or CacheError(
        "the cache folder cannot be written to",
        found=f"{folder}: {error.strerror or error}",
        next_step="make it writable, or set OPENMPS_CACHE_DIR to a folder that is",
    )
