"""Which releases of torch there are for which Python, which of them this machine can run, and how
much of the suite each pair gets."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

OLDEST_TORCH = (2, 11)
OLDEST_PYTHON, NEWEST_PYTHON = 10, 29  # of those that are looked for


class NoSuchRelease(Exception):
    """What was asked for and what there is."""


class NoIndex(Exception):
    """Why pip knows no release at all."""


@dataclass(frozen=True)
class Pair:
    torch: str  # 2.15.0
    python: str  # 3.12

    @property
    def name(self) -> str:
        return f"torch {self.torch}, Python {self.python}"


def parts(release: str) -> tuple[int, ...]:
    return tuple(map(int, release.split(".")))


def wheels(pythons: Iterable[str] = (), limit: float | None = None) -> dict[str, list[str]]:
    """The releases of torch that pip finds a wheel of, for each Python (of the named ones only).

    Raises NoIndex where pip lists nothing, or not within `limit` seconds for a Python.
    """
    found: dict[str, list[str]] = {}
    said = ""
    for python in pythons or (f"3.{minor}" for minor in range(OLDEST_PYTHON, NEWEST_PYTHON + 1)):
        command = [sys.executable, "-m", "pip", "index", "versions", "torch"]
        command += ["--only-binary=:all:", "--python-version", python]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=limit)
        except subprocess.TimeoutExpired as error:
            raise NoIndex(f"pip has not listed the releases of torch in {limit:.0f} s") from error
        listed = re.search(r"^Available versions: (.*)$", done.stdout, re.M)
        if listed:
            found[python] = re.findall(r"(\d+\.\d+\.\d+)(?:\+\w+)?(?=,|$)", listed[1])
        else:
            said = done.stderr.strip().splitlines()[-1]
            if found and not pythons:
                break  # nor is there one for a newer Python
    if not found:
        raise NoIndex(f"pip lists no wheel of torch: {said}")
    return found


def newest_patches(releases: Iterable[str]) -> list[str]:
    """The last patch release of each minor one, newest first."""
    newest: dict[tuple[int, ...], str] = {}
    for release in sorted(releases, key=parts):
        if parts(release)[:2] >= OLDEST_TORCH:
            newest[parts(release)[:2]] = release
    return sorted(newest.values(), key=parts, reverse=True)


def choose(found: Mapping[str, list[str]], torches: Iterable[str]) -> tuple[list[Pair], list[Pair]]:
    """The pairs that exist, and those that would if there were a wheel; the newest of each first.

    A release may be named by its beginning (2.15), by `newest`, or not at all: each minor one.
    """
    everything = {release for releases in found.values() for release in releases}
    releases = newest_patches(everything)
    chosen = set() if torches else set(releases)
    for wanted in torches:
        if wanted == "newest":
            chosen.update(releases[:1])
        elif wanted in everything:
            chosen.add(wanted)
        else:
            begun = [release for release in releases if release.startswith(f"{wanted}.")]
            if not begun:
                raise NoSuchRelease(f"no torch {wanted}; there are {', '.join(releases)}")
            chosen.update(begun)
    ordered = [
        Pair(release, python)
        for release in sorted(chosen, key=parts, reverse=True)
        for python in sorted(found, key=parts, reverse=True)
    ]
    exist = [pair for pair in ordered if pair.torch in found[pair.python]]
    return exist, [pair for pair in ordered if pair not in exist]


def whole_ones(pairs: Iterable[Pair]) -> set[Pair]:
    """The pairs that get the whole suite: one of each release, and so that each Python gets one.

    The newest release with the newest Python, the one before with the Python before, and so on.
    """
    by_release: dict[str, list[Pair]] = {}
    for pair in sorted(pairs, key=lambda each: parts(each.python), reverse=True):
        by_release.setdefault(pair.torch, []).append(pair)
    newest_first = sorted(by_release, key=parts, reverse=True)
    return {
        by_release[release][number % len(by_release[release])]
        for number, release in enumerate(newest_first)
    }


def interpreters(pythons: Iterable[str]) -> dict[str, str]:
    """Where those Pythons are that run here: this one, one on the PATH, or one of pyenv's."""
    there = {}
    for python in pythons:
        if parts(python) == sys.version_info[:2]:
            there[python] = sys.executable
            continue
        for program in (shutil.which(f"python{python}"), _of_pyenv(python)):
            # A name on the PATH may be pyenv's, which runs nothing unless a release is chosen.
            path = program and _said_by([program, "-c", "import sys; print(sys.executable)"])
            if path:
                there[python] = path
                break
    return there


def _of_pyenv(python: str) -> str:
    if not shutil.which("pyenv"):
        return ""
    bare = _said_by(["pyenv", "versions", "--bare"])
    releases = re.findall(rf"^{re.escape(python)}\.\d+$", bare, re.M)
    newest = max(releases, key=parts, default="")
    folder = _said_by(["pyenv", "prefix", newest]) if newest else ""
    return os.path.join(folder, "bin", "python") if folder else ""


def _said_by(command: list[str]) -> str:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
