"""Runs the commands that a page shows, as its reader would, and compares what they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

_END = "openmps-page-end-of-command"
_EXIT_STATUS = re.compile(r"#.*\bexit status (\d+)")
_SHOWS_STATUS = "echo $?"


@dataclass(frozen=True)
class Command:
    text: str
    shown: str | None  # the output on the page; None: the page shows none
    status: int


@dataclass(frozen=True)
class Result:
    output: str
    status: int


def commands_of(language: str, text: str) -> list[Command]:
    return _console(text) if language == "console" else _script(text)


def _script(text: str) -> list[Command]:
    """One command a line; a comment may say its exit status."""
    commands = []
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.lstrip().startswith("#"):
            status = _EXIT_STATUS.search(line)
            commands.append(Command(line, None, int(status[1]) if status else 0))
    return commands


def _console(text: str) -> list[Command]:
    """`$ command`, then its output. Its status is 0, or what the page's next `echo $?` shows."""
    assert text.startswith("$ "), "console blocks begin with a command"
    parts = [part.partition("\n") for part in re.split(r"^\$ ", text, flags=re.M)[1:]]
    commands = []
    for index, (command, _, shown) in enumerate(parts):
        asked = index + 1 < len(parts) and parts[index + 1][0] == _SHOWS_STATUS
        commands.append(Command(command, shown, int(parts[index + 1][2]) if asked else 0))
    return commands


def run_commands(
    commands: list[Command], folder: Path, environment: dict[str, str]
) -> list[Result]:
    """In one shell, each with its output and exit status."""
    script = "".join(
        f"{command.text}\nstatus=$?; echo; echo {_END} $status; (exit $status)\n"
        for command in commands
    )
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    found = re.findall(rf"(.*?)\n{_END} (\d+)\n", done.stdout, re.S)
    assert len(found) == len(commands), done.stdout
    return [Result(output, int(status)) for output, status in found]


def agrees(shown: str, output: str) -> bool:
    """Whether the output is what the page shows: `...` is anything, spaces may differ in number."""
    parts = re.split(r"\.\.\.", _plain(shown))
    pattern = r"\s*".join([".*?".join(map(re.escape, parts)), ""])
    return re.fullmatch(pattern, _plain(output) + "\n", re.S) is not None


def _plain(text: str) -> str:
    lines = [re.sub(r"[ \t]+", " ", line).rstrip() for line in text.strip("\n").splitlines()]
    return "\n".join(lines)


def reader_environment(bin_folder: Path) -> dict[str, str]:
    """`openmps`, `python` and `pytest` are this Python's; the suite's settings are not there."""
    bin_folder.mkdir(exist_ok=True)
    for name, arguments in {"python": "", "openmps": "-m openmps", "pytest": "-m pytest"}.items():
        program = bin_folder / name
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {arguments} "$@"\n')
        program.chmod(0o755)
    kept = {name: value for name, value in os.environ.items() if _is_kept(name)}
    return {
        **kept,
        "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
        "COLUMNS": "100",
        # The page shows its folder as the reader's, without a cache.
        "PYTEST_ADDOPTS": "-p no:cacheprovider",
    }


def _is_kept(name: str) -> bool:
    if name in ("OPENMPS_CACHE_DIR", "OPENMPS_CXX", "OPENMPS_CXXFLAGS", "OPENMPS_SHADER_CXX"):
        return True
    return not name.startswith(("OPENMPS", "PYTORCH_", "PYTEST", "MTL_"))
