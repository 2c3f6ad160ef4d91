"""Which release of a library, or which commit of a checkout, was run."""

from __future__ import annotations

import subprocess
from importlib import metadata
from pathlib import Path


def of_package(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def of_checkout(folder: Path) -> str:
    if not (folder / ".git").exists():  # else git would look above it
        return ""
    command = ["git", "-C", str(folder), "log", "-1", "--format=%h of %cs"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
