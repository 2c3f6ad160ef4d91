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


def run_program(command: list[str], *, mac: str, macos: str, engine: str) -> None:
    _check_program(command)
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
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *command], environment)


def _check_program(command: list[str]) -> None:
    if not command:
        raise OpenmpsError(
            "nothing to run", next_step="name a program: openmps run FILE, or openmps run -m MODULE"
        )
    first = command[0]
    if first in ("-m", "-c"):
        if len(command) < 2:
            raise OpenmpsError(f"{first} needs an argument", next_step=f"openmps run {first} ...")
    elif first.startswith("-"):
        raise OpenmpsError(
            "unknown option",
            found=first,
            next_step="put openmps' options before the program; see `openmps run --help`",
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
