"""`openmps run`: becomes the program, so that argv, exit code and signals are the program's own."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from openmps import settings
from openmps.build.processor import chosen_processor
from openmps.cli.output import check_writable, flush_quietly
from openmps.device import core
from openmps.errors import OpenmpsError
from openmps.mac.chips import parse_mac

_ALL_INTERVALS = "2"


def run_program(
    command: list[str],
    *,
    mac: str,
    macos: str,
    engine: str,
    ledger: bool,
    json_file: Path | None,
    trace: Path | None,
) -> None:
    check_writable(json_file, trace)
    environment = prepare(command, mac=mac, macos=macos, engine=engine, name="run")
    if trace is not None:
        # Intervals of operators, copies and fallbacks, as torch.mps.profiler.start() has them.
        environment["PYTORCH_MPS_TRACE_SIGNPOSTS"] = _ALL_INTERVALS
        environment[settings.TRACE_FILE.variable] = str(trace.absolute())
    if ledger or json_file:
        from openmps.cli.check import run_with_ledger

        run_with_ledger(command, environment, json_file)
    flush_quietly()
    os.execve(sys.executable, [sys.executable, *command], environment)


def prepare(command: list[str], *, mac: str, macos: str, engine: str, name: str) -> dict[str, str]:
    """The environment for `command`, of `openmps {name}`, with all that can fail before it."""
    _check_program(command, name)
    environment = dict(os.environ)
    for setting, given in (
        (settings.MAC, mac),
        (settings.MACOS, macos),
        (settings.ENGINE, engine.lower()),
    ):
        if given:
            environment[setting.variable] = given
    environment[settings.ACTIVE.variable] = "1"
    environment["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "1"
    _check_possible(environment)
    return environment


def _check_program(command: list[str], name: str) -> None:
    if not command:
        raise OpenmpsError(
            "nothing to run",
            next_step=f"name a program: openmps {name} FILE, or openmps {name} -m MODULE",
        )
    first = command[0]
    if first in ("-m", "-c"):
        if len(command) < 2:
            raise OpenmpsError(
                f"{first} needs an argument", next_step=f"openmps {name} {first} ..."
            )
    elif first.startswith("-"):
        raise OpenmpsError(
            "unknown option",
            found=first,
            next_step=f"put openmps' options before the program; see `openmps {name} --help`",
        )
    else:
        _check_script(first)
    if first == "-m":
        _check_module(command[1])


def _check_script(script: str) -> None:
    if not os.path.exists(script):
        raise OpenmpsError(
            "no such program", found=script, next_step=f"check the path, from {Path.cwd()}"
        )
    if os.path.isdir(script) and not os.path.isfile(os.path.join(script, "__main__.py")):
        raise OpenmpsError(
            "this is a folder, and Python runs one only if there is a __main__.py in it",
            found=script,
            next_step="name a script in it",
        )


def _check_module(name: str) -> None:
    """Its first part alone: to look for the others, Python would run the first."""
    first = name.split(".")[0]
    sys.path.insert(0, os.getcwd())  # as `python -m` does
    try:
        found = importlib.util.find_spec(first) if first else None
    except ValueError:  # it is there, and was made in an unusual way
        return
    finally:
        del sys.path[0]
    if found is None:
        raise OpenmpsError(
            "no such module",
            found=f"-m {name}",
            next_step=f"install it into {sys.executable}, or go to the folder in which it lies",
        )


def _check_possible(environment: dict[str, str]) -> None:
    """Fails here, with a clear error, what would otherwise be a warning inside the program."""
    # Not the program yet: were torch to activate here, it would hide the GPUs that are looked for.
    os.environ.update({**environment, settings.ACTIVE.variable: "0"})
    check_installed()
    check_device()


def check_device() -> None:
    """Whether the chosen Mac and engine can be had; builds the core if it never was."""
    settings.check()
    chosen_processor()
    parse_mac(settings.MAC.read(), settings.MACOS.read())
    if sys.platform == "darwin":
        return
    name = settings.ENGINE.read().lower()
    if name not in ("auto", "cpu"):
        from openmps.device import engines

        engines.choose(name)
    core.build()


def check_installed() -> None:
    """The program gets the device through torch's plug-ins: ours must be among them."""
    if not any(entry.name == "openmps" for entry in entry_points(group="torch.backends")):
        raise OpenmpsError(
            "openmps can be imported here but is not installed, so torch would not find it",
            found=f"no openmps among the torch.backends entry points of {sys.executable}",
            next_step="pip install it into this Python",
        )
