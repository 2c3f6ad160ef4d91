"""Each command's help shows an example, and each example is right."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer.main

from openmps.cli.main import app

COMMANDS = ["run", "check", "bench", "doctor", "metal", "macs", "ops"]


def shown(python: Any, *command: str) -> str:
    done = python("-m", "openmps", *command, "--help", COLUMNS="160", TERM="dumb")
    assert done.returncode == 0
    return str(done.stdout)


def example(text: str) -> list[str]:
    """The one that help shows, without the "openmps" that it starts with."""
    (found,) = re.findall(r"Example: openmps (.+?)\s*$", text, re.M)
    return shlex.split(found)


def test_every_command_is_listed(python) -> None:
    text = shown(python)
    for command in COMMANDS:
        assert re.search(rf"^\W*{command} +\w", text, re.M), command
    assert set(typer.main.get_command(app).commands) == set(COMMANDS)  # type: ignore[attr-defined]
    assert example(text) == ["run", "train.py"]
    assert "Every report is JSON with --json" in text


@pytest.mark.parametrize("command", COMMANDS)
def test_the_example_parses_and_json_is_offered(python, command: str) -> None:
    text = shown(python, command)
    name, *arguments = example(text)
    assert name == command
    parsed = typer.main.get_command(app).commands[name]  # type: ignore[attr-defined]
    parsed.make_context(name, arguments)  # raises where something is unknown
    assert "--json" in text


@pytest.mark.parametrize("command", ["run", "check", "metal", "macs", "ops"])
def test_the_example_runs(python, tmp_path: Path, command: str) -> None:
    (tmp_path / "train.py").write_text("import sys; print(sys.argv[1:])")
    (tmp_path / "reduce.metal").write_text(
        "kernel void sum_all(device float* x, uint i [[thread_position_in_grid]]) { x[i] += 1; }"
    )
    epilog = typer.main.get_command(app).commands[command].epilog  # type: ignore[attr-defined]
    done = python("-m", "openmps", *example(epilog))
    assert done.returncode == 0, done.stderr
    assert {
        "run": "['--epochs', '3']",
        "check": "['--epochs', '1']",
        "metal": "sum_all",
        "macs": "M3 Max",
        "ops": "aten::linalg",
    }[command] in done.stdout
    assert (tmp_path / "report.html").exists() == (command == "check")
