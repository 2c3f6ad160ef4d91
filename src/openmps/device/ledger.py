"""Writes what this process does on the device to a file, for `openmps check` and `run --ledger`.

Written when the process ends, in whatever way it can notice, and now and then before: of a process
that is killed, what was seen until shortly before is there.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import signal
import site
import sys
import sysconfig
import threading
import time
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, NoReturn

from openmps import settings

if TYPE_CHECKING:
    from openmps.device.core_interface import Core

_ENDING_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 15.0


def start_if_asked(core: Core, torch: Path, engine: str, mac: str) -> None:
    folder = settings.RECORD.read()
    if folder:
        about = {"engine": engine, "mac": mac}
        _Recorder(core, Path(folder), about).start(torch, find_all=settings.finds_all())


class _Recorder:
    def __init__(self, core: Core, folder: Path, about: dict[str, str]) -> None:
        self._core = core
        self._process = os.getpid()
        self._file = folder / f"{self._process}.json"
        self._about = about
        self._began = time.time()
        self._lock = threading.RLock()
        self._over = threading.Event()

    def start(self, torch: Path, *, find_all: bool) -> None:
        ours = Path(__file__).parent.parent
        internal = [f"{folder}{os.sep}" for folder in (torch, ours)]
        self._core.start_ledger(
            find_all, _library_folders(), internal, str(torch / "_tensor_str.py")
        )
        atexit.register(self._end)
        self._come_before_exit()
        saving = threading.Thread(
            target=self._save_now_and_then, name="openmps ledger", daemon=True
        )
        with contextlib.suppress(RuntimeError):  # no more threads (ulimit -u): saved at the end
            saving.start()
        if threading.current_thread() is threading.main_thread():
            for number in _ENDING_SIGNALS:
                if signal.getsignal(number) is signal.SIG_DFL:
                    signal.signal(number, self._end_by_signal)

    def _come_before_exit(self) -> None:
        """`os._exit` leaves at once, without what `atexit` knows."""
        leave = os._exit

        def exit(status: int) -> NoReturn:
            self._end()
            leave(status)

        os._exit = exit

    def _save_now_and_then(self) -> None:
        pause = _FIRST_PAUSE_S
        while not self._over.wait(pause):
            pause = min(2 * pause, _LONGEST_PAUSE_S)
            self._save()

    def _end(self) -> None:
        if os.getpid() != self._process:  # a forked child has its parent's ledger
            return
        self._over.set()
        self._save()
        # From here on Python goes away, and with it the lines.
        self._core.stop_ledger()

    def _end_by_signal(self, number: int, frame: FrameType | None) -> None:
        self._end()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _save(self) -> None:
        with self._lock:
            content: dict[str, Any] = {
                **self._core.read_ledger(),
                **self._about,
                "process": self._process,
                "began": self._began,
                "command": sys.argv,
                "error": _uncaught(),
            }
            unfinished = self._file.with_suffix(".part")
            try:
                unfinished.write_text(json.dumps(content), encoding="utf-8")
                unfinished.replace(self._file)
            except OSError as failure:
                if self._over.is_set():
                    print(f"openmps: the ledger could not be written: {failure}", file=sys.stderr)


def _library_folders() -> list[str]:
    """Where code lies that is not the program's own: the standard library and what pip installs."""
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders |= {*site.getsitepackages(), site.getusersitepackages()}
    return sorted(f"{folder}{os.sep}" for folder in folders)


def _uncaught() -> str:
    """The exception that ends the program, as Python keeps it for debuggers."""
    error = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    if error is None:
        return ""
    text = str(error).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
