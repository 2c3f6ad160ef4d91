"""torch.mps.profiler.metal_capture: a folder that holds what the captured Metal kernels were given.

On a Mac it is an Xcode trace, which needs Apple's GPU. Here it has the same name and holds text:

    README.txt          what this is
    capture.json        the operators and launches, in order
    library-0.metal     the source of a library, once for all its launches
    launch-0000.json    one launch: kernel, grid, arguments
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Protocol

import torch

from openmps.shader import launches
from openmps.shader.launches import Launch

_README = """\
This folder was written by openmps, which runs PyTorch's mps device on machines without Apple's GPU.
It is not an Xcode trace, and Xcode cannot open it. It holds, as text, what was captured:

    capture.json        the operators and kernel launches, in the order in which they ran
    library-0.metal     the Metal source of a library
    launch-0000.json    one launch: the kernel, its grid, and each argument's dtype, shape,
                        strides and offset, or its value
"""
_ON = frozenset({"1", "true", "yes", "on"})


class Recorder(Protocol):
    """What a capture needs of the device core."""

    def open_recording(self) -> int:
        """Keeps what runs on the device from now on."""

    def close_recording(self, handle: int, /) -> tuple[list[tuple[Any, ...]], int]:
        """The records, and how many more there were."""


def is_enabled() -> bool:
    """Natively Metal's answer, which depends on this variable."""
    return os.environ.get("MTL_CAPTURE_ENABLED", "").strip().lower() in _ON


class Capture:
    """One capture in progress."""

    def __init__(self, folder: Path, core: Recorder) -> None:
        self.folder = folder
        self._core = core
        self._recording = core.open_recording()
        self._sources: dict[str, str] = {}
        self._launches: list[dict[str, Any]] = []
        self.failure: OSError | None = None

    def add(self, launch: Launch) -> None:
        if self.failure is not None:
            return
        try:
            self._add(launch)
        except OSError as failure:  # told at the end: it must not fail the kernel that ran
            self.failure = failure

    def _add(self, launch: Launch) -> None:
        file = f"launch-{len(self._launches):04d}.json"
        described = describe(launch, self._library(launch.source))
        _write_json(self.folder / file, described)
        self._launches.append({"file": file, "kernel": launch.kernel.name})

    def _library(self, source: str) -> str:
        if source not in self._sources:
            file = f"library-{len(self._sources)}.metal"
            (self.folder / file).write_text(source, encoding="utf-8")
            self._sources[source] = file
        return self._sources[source]

    def close(self) -> int:
        """Writes the overview; how many launches it has."""
        records, dropped = self._core.close_recording(self._recording)
        operators = [
            {"kind": record[0], "name": record[1], "text": record[2]}
            for record in records
            if record[0] != "kernel"
        ]
        try:
            _write_json(
                self.folder / "capture.json",
                {
                    "format": "openmps capture 1",
                    "launches": self._launches,
                    "operators": operators,
                    "operators left out": dropped,
                },
            )
        except OSError as failure:
            self.failure = self.failure or failure
        return len(self._launches)


class Captures:
    """`torch._C._mps_startCapture` and `_mps_stopCapture`: one capture at a time, numbered."""

    def __init__(self, core: Recorder) -> None:
        self._core = core
        self._count = 0
        self._current: Capture | None = None

    def is_capturing(self) -> bool:
        return self._current is not None

    def start(self, name: str) -> None:
        folder = Path(f"{self._count:04d}-{name}.gputrace")
        self._count += 1
        if not is_enabled():
            raise _failure(folder, 1, "Capturing is not supported. Set MTL_CAPTURE_ENABLED=1.")
        if self._current is not None:
            raise _failure(folder, 2, "Already capturing.")
        try:
            folder.mkdir()
            (folder / "README.txt").write_text(_README, encoding="utf-8")
        except (OSError, ValueError) as failure:
            raise _failure(folder, 3, str(failure)) from failure
        self._current = Capture(folder.absolute(), self._core)
        launches.add(self._current.add)

    def stop(self) -> None:
        capture, self._current = self._current, None
        if capture is None:
            return
        launches.remove(capture.add)
        count = capture.close()
        if capture.failure is not None:
            print(
                f"openmps: the capture {capture.folder} is not complete: {capture.failure}",
                file=sys.stderr,
            )
            return
        print(
            f"openmps: captured {count} Metal kernel launch{'' if count == 1 else 'es'} in "
            f"{capture.folder}: sources, arguments and grids as text, not an Xcode trace",
            file=sys.stderr,
        )


def _failure(folder: Path, code: int, description: str) -> RuntimeError:
    error = (
        f'Error Domain=MTLCaptureError Code={code} "{description}" '
        f"UserInfo={{NSLocalizedDescription={description}}}"
    )
    return RuntimeError(f"Failed to start capture of {folder} error {error}")


def describe(launch: Launch, library: str) -> dict[str, Any]:
    names = {
        parameter.index: parameter
        for parameter in launch.kernel.parameters
        if parameter.kind == "buffer"
    }
    arguments = []
    for index, arg in enumerate(launch.args):
        parameter = names.get(index)
        declared = {"name": parameter.name, "type": parameter.type} if parameter else {}
        arguments.append({"buffer": index, **declared, **_argument(arg)})
    return {
        "kernel": launch.kernel.name,
        "library": library,
        "threads": list(launch.grid),
        "threads in a threadgroup": list(launch.group),
        "arguments": arguments,
        "arg_casts": launch.casts,
        "milliseconds": (launch.end_ns - launch.start_ns) / 1e6,
    }


def _argument(arg: Any) -> dict[str, Any]:
    if isinstance(arg, torch.Tensor):
        tensor = {
            "dtype": str(arg.dtype).removeprefix("torch."),
            "shape": list(arg.shape),
            "strides": list(arg.stride()),
            "offset": arg.storage_offset(),
        }
        # A CPU tensor without dimensions is passed by value.
        return tensor if arg.device.type == "mps" else {**tensor, "value": _number(arg.item())}
    if isinstance(arg, (list, tuple)):
        return {"elements": [_argument(element) for element in arg]}
    return {"value": _number(arg)}


def _number(value: Any) -> Any:
    # JSON has neither infinities nor complex numbers.
    is_plain = isinstance(value, int) or (isinstance(value, float) and abs(value) < float("inf"))
    return value if is_plain else str(value)


def _write_json(file: Path, content: dict[str, Any]) -> None:
    file.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
