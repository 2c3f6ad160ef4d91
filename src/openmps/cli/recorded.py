"""Runs a program in a process of its own that keeps a ledger, and waits for its end.

The program's process is Python as the user would have started it. This one passes signals on, and
afterwards ends as the program did.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from openmps import settings
from openmps.build.cache import scratch_folder
from openmps.cli.output import flush_quietly, tell

# Those that end a process or mean something to programs. The terminal sends its own to all
# processes itself.
_PASSED_ON = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)
_FROM_KERNEL = 0x80  # SI_KERNEL


@dataclass
class Ran:
    command: list[str]
    status: int  # as subprocess has it: negative is a signal
    # One for each process, oldest first.
    ledgers: list[dict[str, Any]] = field(default_factory=list)

    def end_alike(self) -> None:
        """Ends this process as the program ended."""
        flush_quietly()
        if self.status >= 0:
            sys.exit(self.status)
        number = -self.status
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the program has left its core already
        os.kill(os.getpid(), number)
        sys.exit(128 + number)  # as a shell shows it, where the signal is not one that ends us


def run_recorded(command: list[str], environment: dict[str, str], *, find_all: bool) -> Ran:
    with scratch_folder() as folder:
        environment = {**environment, settings.RECORD.variable: str(folder)}
        if find_all:
            environment[settings.FIND_ALL.variable] = "1"
        status = _run([sys.executable, *command], environment)
        ledgers = _read_ledgers(folder)
    ledgers.sort(key=lambda ledger: (ledger["began"], ledger["process"]))
    return Ran(command, status, ledgers)


def _read_ledgers(folder: Path) -> list[dict[str, Any]]:
    ledgers = []
    for file in folder.glob("*.json"):
        try:
            ledgers.append(json.loads(file.read_text("utf-8")))
        except (OSError, ValueError) as failure:  # a full disk; the others still count
            tell(f"openmps: what one process did could not be read: {failure}")
    return ledgers


def _run(command: list[str], environment: dict[str, str]) -> int:
    sys.stdout.flush()
    sys.stderr.flush()
    awaited = {*_PASSED_ON, signal.SIGCHLD}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, awaited)
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
        )
        while process.poll() is None:
            got = signal.sigtimedwait(awaited, 1.0)
            if got is None or got.si_signo == signal.SIGCHLD or got.si_code == _FROM_KERNEL:
                continue
            process.send_signal(got.si_signo)
        return process.returncode
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
