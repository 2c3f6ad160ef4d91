"""How many threads run, in which threadgroups: PyTorch's rules, and Metal's limits."""

from __future__ import annotations

import operator
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from openmps.errors import DispatchError
from openmps.layouts import BUFFERS
from openmps.shader.native_errors import cast_error, failed_check

if TYPE_CHECKING:
    from collections.abc import Mapping

THREADGROUP_BYTES = 32 << 10  # of every Apple chip that runs PyTorch
_AXIS_LIMIT = 0xFFFF_FFFF  # thread positions are 32-bit
_MEMORY_STEP = 16  # Metal gives out threadgroup memory in such steps


Size = tuple[int, int, int]  # threads along x, y and z


def read_axes(value: Any) -> tuple[int, ...] | None:
    """`threads` or `group_size` as given: None, an integer, or 1 to 3 of them."""
    if value is None:
        return None
    if isinstance(value, int):
        return (_unsigned(value, value),)
    if type(value) is not tuple and not _is_listlike(value):
        raise cast_error(value)
    axes = tuple([_unsigned(axis, value) for axis in value])
    if not 0 < len(axes) < 4:
        raise failed_check("vec.size() > 0 && vec.size() < 4")
    return axes


def _unsigned(axis: Any, value: Any) -> int:
    try:
        count = operator.index(axis)
    except TypeError:
        raise cast_error(value) from None
    if not 0 <= count < 1 << 64:
        raise cast_error(value)
    return count


def _is_listlike(value: Any) -> bool:
    if isinstance(value, (str, bytes, dict)):
        return False
    if isinstance(value, (list, set, frozenset, GeneratorType)):
        return True
    return hasattr(value, "__len__") and hasattr(value, "__getitem__")


def sizes(
    threads: tuple[int, ...] | None, group: tuple[int, ...] | None, limit: int
) -> tuple[Size, Size]:
    """The grid and the threadgroup of a call, with at most `limit` threads in a threadgroup."""
    if threads is None:
        raise RuntimeError("Number of threads is undefined or has wrong dimension")
    if group is None:
        x = threads[0]
        return _grid(threads), (x if len(threads) == 1 and x < limit else limit, 1, 1)
    if len(threads) != len(group):
        raise failed_check("!group_size.has_value() || threads->size() == group_size->size()")
    return _grid(threads), _group(group, limit)


def _three(axes: tuple[int, ...]) -> Size:
    if len(axes) == 1:
        return axes[0], 1, 1
    if len(axes) == 2:
        return axes[0], axes[1], 1
    return axes[0], axes[1], axes[2]


def _group(group: tuple[int, ...], limit: int) -> Size:
    size = _three(group)
    if size[0] * size[1] * size[2] > limit:
        raise ValueError(f"Threadgroup size exceeds {limit} limit")
    if 0 in size:
        raise DispatchError(
            "a threadgroup needs at least one thread along each axis",
            found=f"group_size={group}",
            next_step="pass a group_size of positive numbers, or leave it out",
        )
    return size


def _grid(threads: tuple[int, ...]) -> Size:
    if max(threads) > _AXIS_LIMIT:
        raise DispatchError(
            "a grid has at most 4294967295 threads along an axis, because Metal's thread "
            "positions are 32-bit",
            found=f"threads={threads}",
            next_step="spread the work over two axes, threads=(inner, outer), or launch twice",
        )
    return _three(threads)


def read_memory(value: Any) -> dict[int, int]:
    """`threadgroup_memory`: bytes for [[threadgroup(0)]], or {index: bytes}."""
    asked = value if isinstance(value, dict) else {0: value}
    memory = {}
    for index, size_bytes in asked.items():
        try:
            memory[operator.index(index)] = operator.index(size_bytes)
        except TypeError:
            raise TypeError(
                "threadgroup_memory must be a number of bytes, or a dict of "
                f"{{threadgroup index: bytes}}, not {value!r}"
            ) from None
        if not 0 <= operator.index(index) < BUFFERS or operator.index(size_bytes) < 0:
            raise DispatchError(
                f"threadgroup_memory takes indices from 0 to {BUFFERS - 1} and sizes from 0 on",
                found=repr(value),
                next_step="use the number n of the kernel's [[threadgroup(n)]] argument",
            )
    return memory


def check_memory(kernel: str, memory: Mapping[int, int], static_bytes: int) -> None:
    dynamic = sum(-(-size // _MEMORY_STEP) * _MEMORY_STEP for size in memory.values())
    if dynamic + static_bytes > THREADGROUP_BYTES:
        raise DispatchError(
            f"Threadgroup memory size ({dynamic + static_bytes}) exceeds the maximum threadgroup "
            f"memory allowed ({THREADGROUP_BYTES})",
            found=f"kernel '{kernel}' declares {static_bytes} bytes itself and the call adds "
            f"{dynamic}",
            next_step="ask for less threadgroup_memory",
        )
