"""Names for dtypes and for families of them, and the bit that the core knows each one by."""

from __future__ import annotations

# c10::ScalarType's numbers. They are part of torch's ABI and never change.
_NUMBERS = {
    "uint8": 0,
    "int8": 1,
    "int16": 2,
    "int32": 3,
    "int64": 4,
    "float16": 5,
    "float32": 6,
    "float64": 7,
    "complex32": 8,
    "complex64": 9,
    "complex128": 10,
    "bool": 11,
    "bfloat16": 15,
    "float8_e5m2": 23,
    "float8_e4m3fn": 24,
    "float8_e5m2fnuz": 25,
    "float8_e4m3fnuz": 26,
    "uint16": 27,
    "uint32": 28,
    "uint64": 29,
    "float8_e8m0fnu": 44,
    "float4_e2m1fn_x2": 45,
}

_GROUPS = {
    "small_int": "uint8 int8 int16 int32",
    "integral": "uint8 int8 int16 int32 int64",
    "unsigned": "uint16 uint32 uint64",
    "half": "float16 bfloat16",
    "floating": "float32 float16 bfloat16",
    "complex": "complex32 complex64",
    "float8": (
        "float8_e5m2 float8_e4m3fn float8_e5m2fnuz float8_e4m3fnuz float8_e8m0fnu float4_e2m1fn_x2"
    ),
}

# What a tensor on a Mac can be: everything but double precision.
_ON_A_MAC = "bool integral unsigned floating complex float8"


def number(dtype: str) -> int:
    """The c10::ScalarType number of one dtype."""
    return _NUMBERS[dtype]


def mask(dtypes: str) -> int:
    """One bit per dtype. "!" in front: what a Mac's tensors can be, except these."""
    if dtypes.startswith("!"):
        return mask(_ON_A_MAC) & ~mask(dtypes[1:])
    bits = 0
    for word in dtypes.split():
        for dtype in _GROUPS.get(word, word).split():
            bits |= 1 << _NUMBERS[dtype]
    return bits
