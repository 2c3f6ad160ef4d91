"""`openmps run`: becomes the program, so that argv, exit code and signals are the program's own."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points
from pathlib import Path

from openmps import settings
from openmps.device import core
from openmps.errors import OpenmpsError
from openmps.mac.chips import parse_mac

_ALL_INTERVALS = "2"


def run_program(
    command: list[str], *, mac: str, macos: str, engine: str, ledger: bool, trace: Path | None
) -> None:
    environment = prepare(command, mac=mac, macos=macos, engine=engine, name="run")
    if trace is not None:
        # Intervals of operators, copies and fallbacks, as torch.mps.profiler.start() has them.
        environment["PYTORCH_MPS_TRACE_SIGNPOSTS"] = _ALL_INTERVALS
        environment[settings.TRACE_FILE.variable] = str(trace.absolute())
    if ledger:
        from openmps.cli.check import run_with_ledger

        run_with_ledger(command, environment)
    sys.stdout.flush()
    sys.stderr.flush()
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
    elif not Path(first).exists():
        raise OpenmpsError(
            "no such program", found=first, next_step=f"check the path, from {Path.cwd()}"
        )


def _check_possible(environment: dict[str, str]) -> None:
    """Fails here, with a clear error, what would otherwise be a warning inside the program."""
    # Not the program yet: were torch to activate here, it would hide the GPUs that are looked for.
    os.environ.update({**environment, settings.ACTIVE.variable: "0"})
    check_installed()
    parse_mac(settings.MAC.read(), settings.MACOS.read())
    if sys.platform == "darwin":
        return
    name = settings.ENGINE.read().lower()
    if name not in ("auto", "cpu"):
        from openmps.device import engine

        engine.choose(name)
    core.build()


def check_installed() -> None:
    """The program gets the device through torch's plug-ins: ours must be among them."""
    if not any(entry.name == "openmps" for entry in entry_points(group="torch.backends")):
        raise OpenmpsError(
            "openmps can be imported here but is not installed, so torch would not find it",
            found=f"no openmps among the torch.backends entry points of {sys.executable}",
            next_step="pip install it into this Python",
        )
