"""Who wants to know about each launch of a Metal kernel: the profiler, a capture."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from openmps.msl.kernels import Kernel
    from openmps.shader.grid import Size


class Launch(NamedTuple):
    """A launch that is over. Times are of time.monotonic_ns()."""

    kernel: Kernel
    source: str
    args: tuple[Any, ...]
    casts: Any  # `arg_casts` as given
    grid: Size
    group: Size
    start_ns: int
    end_ns: int


Observer = Callable[[Launch], None]

# Called in order, after each launch. Empty almost always: a launch then pays for one look.
observers: list[Observer] = []


def add(observer: Observer) -> None:
    if observer not in observers:
        observers.append(observer)


def remove(observer: Observer) -> None:
    if observer in observers:
        observers.remove(observer)
