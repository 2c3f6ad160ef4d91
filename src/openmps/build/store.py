"""Built files under a key, in the user's cache. Knows nothing about compilers.

    <cache>/<kind>/<key>/<name>        the file
    <cache>/<kind>/<key>/entry.json    its digest and how it was made
    <cache>/<kind>/<key>.lock          held while building; the system drops it if the holder dies

An entry appears by renaming a finished folder, so it is whole or absent. One whose file does not
match its digest is treated as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from openmps.errors import CacheError


class Store:
    def __init__(self, cache: Path, kind: str) -> None:
        self._folder = cache / kind

    def find(self, key: str, name: str) -> Path | None:
        """The file, or None if there is none or it is damaged."""
        file = self._folder / key / name
        try:
            entry = json.loads((file.parent / "entry.json").read_bytes())
            intact = entry["sha256"] == hashlib.sha256(file.read_bytes()).hexdigest()
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return file if intact else None

    @contextlib.contextmanager
    def workspace(self, key: str) -> Iterator[Path]:
        """An empty folder to build in, gone afterwards. Call with the lock held."""
        self._sweep(key)
        folder = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=self._folder))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def publish(self, key: str, name: str, built: Path, facts: dict[str, object]) -> Path:
        """Moves `built`, a file in a workspace, to its place. Call with the lock held."""
        entry = {"sha256": hashlib.sha256(built.read_bytes()).hexdigest(), **facts}
        finished = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=self._folder))
        os.replace(built, finished / name)
        (finished / "entry.json").write_text(json.dumps(entry, indent=2))
        final = self._folder / key
        if final.exists():
            # Damaged, or find() would have returned it. Moved aside first: readers see no half.
            os.replace(final, tempfile.mkdtemp(prefix=f".{key}-", dir=self._folder))
        os.replace(finished, final)
        self._sweep(key)
        return final / name

    @contextlib.contextmanager
    def lock(self, key: str, waiting: Callable[[], None]) -> Iterator[None]:
        """Keeps other processes from building `key`. Calls `waiting` once if one already is."""
        import fcntl

        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            handle = open(self._folder / f"{key}.lock", "w")  # noqa: SIM115 (closed below)
        except OSError as error:
            raise CacheError(
                "the cache folder cannot be written to",
                found=f"{self._folder}: {error.strerror}",
                next_step="make it writable, or set OPENMPS_CACHE_DIR to a folder that is",
            ) from error
        with handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                waiting()
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def _sweep(self, key: str) -> None:
        """Removes what killed builds of this key left behind."""
        for leftover in self._folder.glob(f".{key}-*"):
            shutil.rmtree(leftover, ignore_errors=True)
