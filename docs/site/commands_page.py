"""The page of commands, made from what `--help` knows."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

import typer

from openmps.cli.main import app

if TYPE_CHECKING:
    from click import Command, Parameter

_INTRODUCTION = """\
# Command line

This page is made from the code: it says what `openmps COMMAND --help` says.
"""


def commands_page() -> str:
    commands: dict[str, Command] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    return _INTRODUCTION + "".join(_section(name, each) for name, each in commands.items())


def _section(name: str, command: Command) -> str:
    told = re.sub(r"[\b\f]", "", command.help or "").strip()
    rows = [f"| {_names(each)} | {_meaning(each)} |" for each in command.params]
    table = "\n".join(["| | |", "| --- | --- |", *rows]) if rows else ""
    example = (command.epilog or "").removeprefix("Example: ")
    shown = f"```sh\n{example}\n```" if example else ""
    return f"\n## openmps {name}\n\n{escape(told)}\n\n{shown}\n\n{table}\n"


def _names(parameter: Parameter) -> str:
    if parameter.param_type_name == "argument":
        return f"`{(parameter.name or '').upper()}`"
    return ", ".join(f"`{option}`" for option in parameter.opts)


def _meaning(parameter: Parameter) -> str:
    return escape(getattr(parameter, "help", "") or "").replace("|", "&#124;")
