"""The one function that says when two builds are equal."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

# Raised whenever the meaning of a cache entry changes, so that old entries are never read as new.
FORMAT = "1"


def build_key(sources: Mapping[str, bytes], facts: Iterable[str]) -> str:
    """A name for the build of `sources` under `facts` (torch's version, flags, platform, ...).

    The compiler is not among them: a machine with a warm cache needs none.
    """
    digest = hashlib.sha256()
    for part in (FORMAT, *facts):
        digest.update(f"{len(part)}:{part}".encode())
    for name in sorted(sources):
        text = sources[name]
        digest.update(f"{name}:{len(text)}:".encode())
        digest.update(text)
    return digest.hexdigest()[:24]
