"""Python values in, bound addresses out: which bytes a kernel sees for each argument.

A call borrows a Block, memory with a fixed address, so that binding numbers allocates nothing.
"""

from __future__ import annotations

import ctypes
import math
import operator
import struct
from array import array
from collections.abc import Callable, Sequence
from typing import Any, Final

import torch
from torch import Tensor

from openmps.errors import DispatchError
from openmps.layouts import BUFFERS
from openmps.shader.native_errors import cast_error
from openmps.targets.base import DISPATCH_BYTES, ValueMemory

# (address, bytes) of an mps tensor; None for any other
TensorExtent = Callable[[Tensor], "tuple[int, int] | None"]

INLINE_BYTES = 4096  # what Metal's setBytes takes
_SLOT = 16
_ALIGN = 64  # more than any Metal type asks for
# Kernels may read a little further than a value is long: leave a margin.
_LISTS = -(-(_SLOT * BUFFERS + _ALIGN) // _ALIGN) * _ALIGN
VALUE_BYTES: Final = _LISTS + BUFFERS * (INLINE_BYTES + _ALIGN)

_pack_float = struct.Struct("=f").pack_into
_pack_int = struct.Struct("=q").pack_into


class Block:
    """Memory of one call, and what is bound in it: the dispatch, and apart from it what the kernel
    sees, 16 bytes for each argument that is a number and then the lists of numbers.
    """

    __slots__ = (
        "_anchor",
        "_kept",
        "_lists_end",
        "address",
        "addresses",
        "copied",
        "extents",
        "memory",
        "sizes",
        "values",
        "values_address",
        "values_owner",
    )

    def __init__(self, values: ValueMemory) -> None:
        self.memory = bytearray(DISPATCH_BYTES)
        self._anchor = (ctypes.c_char * len(self.memory)).from_buffer(self.memory)
        self.address = ctypes.addressof(self._anchor)
        self.values_owner = values
        self.values = values.memory
        self.values_address = values.address
        self._lists_end = _LISTS
        self.addresses: list[int] = []
        self.sizes: list[int] = []
        self.copied = 0  # bit n: buffer n is a value in this block, not memory of the device
        self.extents: list[tuple[int, int]] = []  # of tensors in lists
        self._kept: list[Any] = []

    def clear(self) -> None:
        self.addresses.clear()
        self.sizes.clear()
        self.copied = 0
        self._lists_end = _LISTS
        if self.extents:
            self._kept.clear()
            self.extents.clear()

    def bind(self, index: int, address: int, size_bytes: int) -> None:
        """Binds a buffer of any index, also beyond those bound so far."""
        missing = index + 1 - len(self.addresses)
        if missing > 0:
            self.addresses += [0] * missing
            self.sizes += [0] * missing
        self.addresses[index] = address
        self.sizes[index] = size_bytes
        self.copied &= ~(1 << index)

    def keep(self, data: bytes) -> int:
        """The address of a copy of `data`, aligned for any Metal type."""
        begin = self._lists_end
        self._lists_end += -(-len(data) // _ALIGN) * _ALIGN + _ALIGN
        self.values[begin : begin + len(data)] = data
        return self.values_address + begin

    def keep_extents(self) -> int:
        """The address of a table of them, which no kernel sees."""
        pairs = [number for extent in self.extents for number in extent]
        table = (ctypes.c_uint64 * len(pairs))(*pairs)
        self._kept.append(table)
        return ctypes.addressof(table)


class Casts:
    """`arg_casts`: one name for all numbers, or a name for some positions."""

    __slots__ = ("by_index", "default")

    def __init__(self, given: Any) -> None:
        self.default = ""
        self.by_index: dict[int, str] = {}
        if isinstance(given, str):
            self.default = given
        elif isinstance(given, dict):
            self.by_index = _read_cast_map(given)
        else:
            raise RuntimeError(f"Unexpected caster arg type {type(given).__name__}")

    def encode(self, index: int, values: Sequence[float], plain: str) -> bytes:
        """The bytes of `values`, which are all float32 (`plain` "f") or all int64 ("q")."""
        name = self.by_index.get(index, self.default)
        if not name:
            return struct.pack(f"={len(values)}{plain}", *values)
        try:
            encode = _CASTS[name]
        except KeyError:
            # It names the default, even where the unknown name came from the dict.
            raise RuntimeError(f"Unsupported cast instruction {self.default}") from None
        return b"".join(encode(value) for value in values)


def _read_cast_map(given: dict[Any, Any]) -> dict[int, str]:
    casts = {}
    for index, name in given.items():
        try:
            position = operator.index(index)
        except TypeError:
            raise cast_error(given) from None
        if position < 0 or not isinstance(name, str):
            raise cast_error(given)
        casts[position] = name
    return casts


def bind(
    block: Block, args: tuple[Any, ...], casts: Casts | None, tensor_extent: TensorExtent
) -> None:
    """Binds each argument to the buffer of its position."""
    if len(args) > BUFFERS:
        raise DispatchError(
            f"a Metal kernel has {BUFFERS} buffers",
            found=f"{len(args)} arguments",
            next_step="pass a list of tensors as one argument; the kernel takes it as a struct "
            "of pointers, constant Inputs& with metal::array<device float*, N>",
        )
    memory = block.values
    begin = block.values_address
    offset = 0
    bit = 1  # of this argument in block.copied
    copied = 0
    add_address = block.addresses.append
    add_size = block.sizes.append
    for arg in args:
        kind = type(arg)
        if kind is Tensor:
            extent = tensor_extent(arg)
            if extent is None:
                extent = _host_number(block, offset, arg)
                copied |= bit
            add_address(extent[0])
            add_size(extent[1])
        elif casts is None and kind is float:
            try:
                _pack_float(memory, offset, arg)
            except OverflowError:
                _pack_float(memory, offset, math.copysign(math.inf, arg))
            add_address(begin + offset)
            add_size(_SLOT)
            copied |= bit
        elif casts is None and (kind is int or kind is bool):
            try:
                _pack_int(memory, offset, arg)
            except struct.error:
                raise cast_error(arg) from None
            add_address(begin + offset)
            add_size(_SLOT)
            copied |= bit
        else:
            extent = tensor_extent(arg) if isinstance(arg, Tensor) else None  # a Parameter
            if extent is None:
                extent = _value(block, offset, arg, casts or _NO_CASTS, tensor_extent)
                copied |= bit
            add_address(extent[0])
            add_size(extent[1])
        offset += _SLOT
        bit <<= 1
    block.copied = copied


def _inline(block: Block, offset: int, data: bytes) -> tuple[int, int]:
    if len(data) <= _SLOT:
        block.values[offset : offset + len(data)] = data
        return block.values_address + offset, _SLOT
    if len(data) > INLINE_BYTES:
        raise DispatchError(
            f"a list given to a Metal kernel has at most {INLINE_BYTES} bytes",
            found=f"{len(data)} bytes",
            next_step="put the values into a tensor on mps and pass that",
        )
    return block.keep(data), len(data)


def _host_number(block: Block, offset: int, tensor: Tensor) -> tuple[int, int]:
    """A tensor that is not on mps: the value of one without dimensions."""
    if tensor.device.type == "mps":
        tensor.data_ptr()  # a wrapper, such as vmap's: torch's own error says so
    if tensor.device.type != "cpu" or tensor.dim() != 0:
        raise RuntimeError(f"Passed {tensor.device.type.upper()} tensor to MPS op")
    with torch.no_grad():
        narrow = _NARROW.get(tensor.dtype)
        value = tensor.to(narrow) if narrow else tensor
        return _inline(block, offset, ctypes.string_at(value.data_ptr(), value.element_size()))


def _value(
    block: Block, offset: int, arg: Any, casts: Casts, tensor_extent: TensorExtent
) -> tuple[int, int]:
    """What the fast path leaves: subclasses, lists, casts."""
    if isinstance(arg, Tensor):
        return _host_number(block, offset, arg)
    index = offset // _SLOT
    if isinstance(arg, (list, tuple)):
        return _inline(block, offset, _encode_list(block, index, arg, casts, tensor_extent))
    if isinstance(arg, float):
        return _inline(block, offset, casts.encode(index, _array("f", (arg,), arg), "f"))
    if isinstance(arg, int):
        return _inline(block, offset, casts.encode(index, _array("q", (arg,), arg), "q"))
    raise RuntimeError("Unsupported argument type")


def _encode_list(
    block: Block, index: int, values: Sequence[Any], casts: Casts, tensor_extent: TensorExtent
) -> bytes:
    """The first element decides what the others must be."""
    if len(values) == 0:
        raise RuntimeError("Empty list/tuple can not be an argument to metal kernel")
    first = values[0]
    if isinstance(first, int):
        return casts.encode(index, _array("q", values, values), "q")
    if isinstance(first, float):
        return casts.encode(index, _array("f", values, values), "f")
    if not isinstance(first, Tensor):
        raise RuntimeError("Unexpected argument types")
    addresses = []
    for tensor in values:
        if not isinstance(tensor, Tensor):
            raise cast_error(values)
        extent = tensor_extent(tensor)
        if extent is None:
            raise RuntimeError(f"Passed {tensor.device.type.upper()} tensor to MPS op")
        addresses.append(extent[0])
        block.extents.append(extent)
    return struct.pack(f"={len(addresses)}Q", *addresses)


def _array(typecode: Any, values: Sequence[Any], given: object) -> array[Any]:
    """As numbers of that C type. Converts as C does: float("1e300") becomes infinity."""
    try:
        return array(typecode, values)
    except (TypeError, OverflowError):
        raise cast_error(given) from None


def _half(value: float) -> bytes:
    try:
        return struct.pack("=e", float(value))
    except OverflowError:
        return struct.pack("=e", math.copysign(math.inf, value))


def _bfloat16(value: float) -> bytes:
    if math.isnan(value):
        return b"\xc0\x7f"
    bits = int.from_bytes(struct.pack("=f", value), "little")
    rounded = bits + 0x7FFF + (bits >> 16 & 1)  # to nearest, ties to even
    return (rounded >> 16).to_bytes(2, "little")


def _integer(size: int, low: int, high: int) -> Callable[[float], bytes]:
    """As Apple's CPUs convert: fractions are cut off, floats kept within 32 bits, integers not."""
    mask = (1 << 8 * size) - 1

    def encode(value: float) -> bytes:
        if isinstance(value, float):
            value = 0 if math.isnan(value) else int(min(max(value, low), high))
        return (value & mask).to_bytes(size, "little")

    return encode


_SIGNED_32 = (-(1 << 31), (1 << 31) - 1)

_CASTS: dict[str, Callable[[float], bytes]] = {
    "fp16": _half,
    "bf16": _bfloat16,
    "int32": _integer(4, *_SIGNED_32),
    "int16": _integer(2, *_SIGNED_32),
    "int8": _integer(1, *_SIGNED_32),
    "uint8": _integer(1, 0, (1 << 32) - 1),
}
_NO_CASTS = Casts("")
_NARROW = {torch.float64: torch.float32, torch.complex128: torch.complex64}
