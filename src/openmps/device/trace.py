"""Traces of torch.mps.profiler as files that Perfetto and chrome://tracing open.

On a Mac the same records are signposts, which Xcode's Instruments shows.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from openmps import settings
from openmps.errors import SettingError
from openmps.shader import launches
from openmps.shader.launches import Launch

if TYPE_CHECKING:
    from openmps.device.core_interface import Core

# What a Mac's signposts are called.
_INTERVALS = {
    "operation": "PyTorchOperationIntervals",
    "kernel": "MetalKernelIntervals",
    "copy": "PyTorchCopyIntervals",
    "fallback": "PyTorchCPUFallbackIntervals",
}
_EVENTS = {
    "operation": "PyTorchOperationEvents",
    "kernel": "MetalKernelEvents",
    "copy": "PyTorchCopyEvents",
    "fallback": "PyTorchCPUFallbacksEvents",
}


class Record(NamedTuple):
    """One thing that ran, as the core gives it."""

    kind: str
    name: str
    message: str
    detail: str
    id: int
    run: int
    thread: int
    start_ns: int
    duration_ns: int
    bytes: int


class Tracer:
    """`torch._C._mps_profilerStartTrace` and `_mps_profilerStopTrace`, with a file at the end."""

    def __init__(
        self,
        core: Core,
        start: Callable[[str, bool], None],
        stop: Callable[[], None],
    ) -> None:
        self._core = core
        self._start = start
        self._stop = stop
        self._numbers = count()
        # PYTORCH_MPS_TRACE_SIGNPOSTS traces without any call.
        atexit.register(self._write)

    def start(self, mode: str, wait: bool, /) -> None:
        self._start(mode, wait)
        self.watch_launches()

    def stop(self) -> None:
        self._stop()
        self.watch_launches()
        self._write()

    def watch_launches(self) -> None:
        """Gives launches of Metal kernels to the core, as long as it wants them.

        Reads PyTorch's variables if nothing has run on the device yet, as natively.
        """
        if self._core.records_kernels():
            launches.add(self._record_launch)
        else:
            launches.remove(self._record_launch)

    def _record_launch(self, launch: Launch) -> None:
        grid = "x".join(map(str, launch.grid))
        group = "x".join(map(str, launch.group))
        self._core.record_kernel(
            launch.kernel.name,
            launch.args,
            f"{grid} threads in threadgroups of {group}",
            launch.start_ns,
            launch.end_ns,
        )

    def _write(self) -> None:
        trace = self._core.take_trace()
        if trace is None:
            return
        with_events, with_intervals, tuples, dropped = trace
        records = [Record(*values) for values in tuples]
        events = trace_events(records, with_events=with_events, with_intervals=with_intervals)
        text = json.dumps({"displayTimeUnit": "ms", "traceEvents": events}, indent=0) + "\n"
        try:
            file = _write_file(text, next(self._numbers))
        except (OSError, SettingError) as failure:
            print(f"openmps: the trace could not be written: {failure}", file=sys.stderr)
            return
        left_out = f", {dropped} more left out" if dropped else ""
        print(
            f"openmps: trace of {len(records)} record{'' if len(records) == 1 else 's'}{left_out} "
            f"in {file.absolute()} (for Perfetto or chrome://tracing)",
            file=sys.stderr,
        )


def trace_events(
    records: list[Record], *, with_events: bool, with_intervals: bool
) -> list[dict[str, Any]]:
    """In Chrome's trace format: intervals have a duration, events mark the end."""
    process = os.getpid()
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": process, "args": {"name": "mps (openmps)"}}
    ]
    for record in records:
        where = {"pid": process, "tid": record.thread}
        arguments = _arguments(record)
        if with_intervals:
            events.append(
                {
                    "ph": "X",
                    "name": record.name,
                    "cat": _INTERVALS[record.kind],
                    "ts": record.start_ns / 1000,
                    "dur": record.duration_ns / 1000,
                    **where,
                    "args": arguments,
                }
            )
        if with_events:
            events.append(
                {
                    "ph": "i",
                    "s": "t",
                    "name": record.name,
                    "cat": _EVENTS[record.kind],
                    "ts": (record.start_ns + record.duration_ns) / 1000,
                    **where,
                    "args": arguments,
                }
            )
    return events


def _arguments(record: Record) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "signpost": record.message,
        "device ms": record.duration_ns / 1e6,
    }
    if record.detail:
        arguments["grid"] = record.detail
    if record.bytes:
        arguments["bytes"] = record.bytes
    return arguments


def _write_file(text: str, number: int) -> Path:
    if settings.TRACE_FILE.read():
        file = settings.path_of(settings.TRACE_FILE)
        if number:  # a process's later traces do not replace its first
            file = file.with_name(f"{file.stem}-{number}{file.suffix}")
        file.write_text(text, encoding="utf-8")
        return file
    for file in _free_names():
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(text)
        except FileExistsError:
            continue
        return file
    raise AssertionError("unreachable: there is always another number")


def _free_names() -> Iterator[Path]:
    for number in count():
        yield Path(f"{number:04d}-mps-trace.json")
