"""The same program on two devices, each in a process of its own, measured in turn.

One accelerator per process: `cuda` and `mps` cannot share one. Both processes live at once and take
turns, so that the card's clocks and heat hit both alike. A worker waits at its pipe while the other
works; it answers in JSON lines on a copy of its standard output, where nothing else can print.

A benchmark gives `serve` a function that makes a Case from its name and a device; the driver half,
`Side`, asks for cases by name.
"""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from openmps.bench.measure import Pair, nothing

# A Mac with room for every model here: what is measured is speed, not a small Mac's limits.
MAC = "M3 Ultra 512GB"
FEW_CORES = 4  # to build on what is measured on one
NONE: Mapping[str, str] = MappingProxyType({})


class CaseFailed(SystemExit):
    """What a worker could not do; it lives on, and other cases may work."""


class Case(Protocol):
    """One piece of work, built and ready to run."""

    def warm_up(self) -> float:
        """Runs it a few times, unmeasured; answers with a figure of its result, to be compared."""
        ...

    def seconds(self, calls: int) -> float:
        """Of one call, in a row of `calls`."""
        ...


def cores() -> int:
    """How many this process may use: of its mask, and of its container's share."""
    mine = len(os.sched_getaffinity(0))
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
        return mine if quota == "max" else max(1, min(mine, int(quota) // int(period)))
    except (OSError, ValueError):
        return mine


def environment(engine: str, settings: Mapping[str, str] = NONE) -> dict[str, str]:
    """Of a worker: these settings, and nothing of the caller's but where the cache lies."""
    mine = {k: v for k, v in os.environ.items() if not k.startswith(("OPENMPS", "OMP_"))}
    if "OPENMPS_CACHE_DIR" in os.environ:
        mine["OPENMPS_CACHE_DIR"] = os.environ["OPENMPS_CACHE_DIR"]
    mine |= {"OPENMPS_ENGINE": engine, "OPENMPS_MAC": MAC, "OMP_NUM_THREADS": str(cores())}
    mine |= settings
    if engine == "cpu":
        mine["CUDA_VISIBLE_DEVICES"] = ""
    return mine


class Side:
    """A worker process: the script again, told to serve a device."""

    def __init__(
        self,
        script: str,
        device: str,
        engine: str,
        arguments: Sequence[str] = (),
        settings: Mapping[str, str] = NONE,
    ) -> None:
        self.device = device
        self._process = subprocess.Popen(
            [sys.executable, script, *arguments, "--serve", device],
            env=environment(engine, settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def stay_on(self, cores: int) -> None:
        """Its main thread, and what that starts from now on. The same cores for all who take turns:
        two of a machine are not equally fast, and what else runs there hits all alike. The last
        ones: the first often serve the machine's devices, too."""
        os.sched_setaffinity(self._process.pid, sorted(os.sched_getaffinity(0))[-cores:])

    def tell(self, command: str, *arguments: object) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps([command, *arguments]) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            self._died(command)

    def hear(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            self._died("its answer")
        answer = json.loads(line)
        if "failed" in answer:
            raise CaseFailed(f"{self.device}: {answer['failed']}")
        return answer["done"]

    def ask(self, command: str, *arguments: object) -> Any:
        self.tell(command, *arguments)
        return self.hear()

    def _died(self, command: str) -> None:
        code = self._process.wait()
        raise SystemExit(
            f"the process of {self.device} ended with {code} before {command}; "
            "its own words are above"
        )

    def close(self) -> None:
        self._process.communicate()

    def end(self) -> None:
        """Now, whatever it does."""
        self._process.kill()
        self._process.wait()


@contextmanager
def two_sides(script: str, arguments: Sequence[str] = ()) -> Iterator[tuple[Side, Side]]:
    """`cuda`, and `mps` on the CUDA engine."""
    sides = Side(script, "cuda", "cuda", arguments), Side(script, "mps", "cuda", arguments)
    try:
        yield sides
    finally:
        for side in sides:
            side.close()


def open_on(sides: Sequence[Side], case: str) -> list[float]:
    """Builds the case on each side, at the same time, then warms up one after the other."""
    for side in sides:
        side.stay_on(FEW_CORES)
        side.tell("open", case)
    failures = []
    for side in sides:  # every answer must be heard, or the next would be taken for it
        try:
            side.hear()
        except CaseFailed as failure:
            failures.append(failure)
    if failures:
        raise failures[0]
    for side in sides:
        side.stay_on(1)
    return [side.ask("warm_up") for side in sides]


def close_on(sides: Sequence[Side]) -> None:
    for side in sides:
        side.ask("close")


def in_turn(
    base: Side,
    other: Side,
    *,
    calls: int,
    rounds: int,
    command: str = "seconds",
    arguments: tuple[object, ...] = (),
) -> Pair:
    """Who goes first changes with every round; the first is not counted."""
    pair = Pair([], [])
    turns = [(pair.base, base), (pair.other, other)]
    for turn in range(rounds + 1):
        for times, side in turns if turn % 2 else reversed(turns):
            seconds = side.ask(command, *arguments, calls)
            if turn:
                times.append(seconds)
    return pair


def compare_in_turn(
    base: Side,
    other: Side,
    case: str,
    *,
    round_s: float,
    rounds: int,
    most_calls: int = 1000,
    before_closing: Callable[[], None] = nothing,
) -> tuple[Pair, list[float]]:
    """Opens, measures with as many calls as fill `round_s`, closes. Also: the warm-ups' figures."""
    figures = open_on((base, other), case)
    calls = max(1, min(most_calls, round(round_s / base.ask("seconds", 1))))
    pair = in_turn(base, other, calls=calls, rounds=rounds)
    before_closing()
    close_on((base, other))
    return pair, figures


def serve(device: str, make: Callable[[str, str], Case]) -> None:
    """The worker half. Returns when the driver closes the pipe."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints goes with the errors
    if device == "mps":
        import openmps

        openmps.activate()
    import torch

    case: Case | None = None

    def obey(command: str, *arguments: Any) -> object:
        nonlocal case
        if command == "open":
            case = make(arguments[0], device)
        elif command == "close":
            case = None
            gc.collect()
            if device != "cpu":
                torch.get_device_module(device).empty_cache()
        else:
            return getattr(case, command)(*arguments)
        return None

    for line in sys.stdin:
        try:
            answer = {"done": obey(*json.loads(line))}
        except Exception:
            answer = {"failed": traceback.format_exc()}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
