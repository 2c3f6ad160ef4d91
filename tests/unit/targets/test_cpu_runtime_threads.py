"""One fibre per thread: the functions of lanes.h against numpy."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from openmps.targets.cpu_runtime import Style

if TYPE_CHECKING:
    from conftest import Kernels

BOXES, GROUPS, SIMDGROUPS, THREADS = Style


def test_threads_know_their_place(kernels: Kernels) -> None:
    out = np.zeros((6, 10, 4), np.uint32)
    kernels.call("where", THREADS, (10, 6, 1), (8, 5, 1), out)
    for row, column in np.ndindex(6, 10):
        x, y, width = column % 8, row % 5, 8 if column < 8 else 2
        index = y * width + x
        assert out[row, column].tolist() == [x, y, index % 32, index // 32]


@pytest.mark.parametrize("threads", [1, 31, 100, 1024])
def test_threads_that_return_are_not_waited_for(kernels: Kernels, threads: int) -> None:
    out = np.zeros((3, threads), np.float32)
    kernels.call("reverse", THREADS, (3 * threads, 1, 1), (threads, 1, 1), out, workers=2)
    index = np.arange(threads)
    gone = index % 7 == 3
    expected = np.where(gone | gone[::-1], -1, index[::-1])
    assert (out == expected).all()


def test_thread_simdgroups_take_turns_highest_first(kernels: Kernels) -> None:
    out = np.zeros(64, np.uint32)
    kernels.call("thread_order", THREADS, (96, 1, 1), (96, 1, 1), out)
    assert out[1:10].tolist() == [102, 101, 100, 202, 201, 200, 302, 301, 300]


def test_what_a_kernel_leaves_behind_is_nothing_to_the_next(kernels: Kernels) -> None:
    whole = (32, 1, 1)
    kernels.call("tell_of_a_call_that_never_comes", THREADS, whole, whole)
    out, values, masks = np.zeros(32, np.uint32), np.arange(32, dtype=np.uint32), ~np.zeros(1, "u4")
    kernels.call("reduce_add_u32", THREADS, whole, whole, out, values, masks)
    assert out.tolist() == [sum(range(32))] * 32


@pytest.mark.parametrize("threads", [32, 28])
def test_lanes_meet_at_their_call_site(kernels: Kernels, threads: int) -> None:
    out = np.zeros((threads, 6), np.uint32)
    kernels.call("divergent", THREADS, (threads, 1, 1), (threads, 1, 1), out)

    def mask(lanes) -> int:
        return sum(1 << lane for lane in lanes)

    everyone = range(threads)
    third = [lane for lane in everyone if lane % 3 == 0]
    others = [lane for lane in everyone if lane % 3]
    for lane in everyone:
        active, answer, all_active, rounds, index, pair = out[lane].tolist()
        assert active == mask(third if lane % 3 == 0 else others)
        if lane % 3 == 0:
            assert answer == mask(one for one in third if one % 2 == 0)
        elif (lane + 3) % 32 in others:
            assert answer == (lane + 3) % 32 + 100
        assert all_active == mask(everyone)
        assert rounds == sum(threads - i for i in range(lane + 1))
        assert (index, pair) == (lane, lane ^ 1)


OPERATIONS = {
    "add": np.add,
    "mul": np.multiply,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "min": np.fmin,
    "max": np.fmax,
    "umin": np.minimum,
    "umax": np.maximum,
    "smin": lambda a, b: np.minimum(signed(a), signed(b)).view(a.dtype),
    "smax": lambda a, b: np.maximum(signed(a), signed(b)).view(a.dtype),
}
TYPES = {"f32": np.float32, "u32": np.uint32, "u64": np.uint64}


def signed(values: np.ndarray) -> np.ndarray:
    return values.view(values.dtype.str.replace("u", "i"))


def identity(operation: str, kind: type) -> object:
    if kind is np.float32:
        return {"add": -0.0, "mul": 1.0}.get(operation, np.nan)
    most = np.iinfo(kind).max
    table = {"mul": 1, "and": most, "umin": most, "smin": most // 2, "smax": most // 2 + 1}
    return table.get(operation, 0)


def expected_lanes(name: str, values: np.ndarray, present: np.ndarray) -> np.ndarray:
    """What lanes.h says, for one simdgroup."""
    family, *middle, operation, kind = name.split("_")
    apply = OPERATIONS[operation]
    v = np.where(present, values, values.dtype.type(identity(operation, TYPES[kind])))
    if family == "reduce":
        while len(v) > 1:
            v = apply(v[: len(v) // 2], v[len(v) // 2 :])
        return np.broadcast_to(v, 32)
    for distance in (1, 2, 4, 8, 16):
        v = np.concatenate([v[:distance], apply(v[:-distance], v[distance:])])
    if middle == ["exclusive"]:
        v = np.concatenate([np.array([operation == "mul"], v.dtype), v[:-1]])
    return v


NAMES = [
    *(f"reduce_{o}_f32" for o in ("add", "mul", "min", "max")),
    *(f"reduce_{o}_{w}" for w in ("u32", "u64") for o in OPERATIONS if o not in ("min", "max")),
    *(
        f"scan_{s}_{o}_{w}"
        for w in TYPES
        for s in ("inclusive", "exclusive")
        for o in ("add", "mul")
    ),
]


@pytest.mark.parametrize("name", NAMES)
def test_lane_functions_bit_for_bit(kernels: Kernels, name: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    kind = TYPES[name.rsplit("_", 1)[1]]
    simdgroups, threads = 20, 20 * 32 - 5  # the last one is not whole
    if kind is np.float32:
        values = rng.standard_normal((simdgroups, 32)).astype(np.float32)
        values[rng.random(values.shape) < 0.05] = -0.0
        if "min" in name or "max" in name:
            values[rng.random(values.shape) < 0.2] = np.nan
    else:
        values = rng.integers(0, np.iinfo(kind).max, (simdgroups, 32), kind, endpoint=True)
    present = rng.random(values.shape) < rng.random((simdgroups, 1))
    present[0], present[1] = True, np.arange(32) == 17
    present.reshape(-1)[threads:] = False
    masks = (present << np.arange(32, dtype=np.uint32)).sum(1).astype(np.uint32)
    out = np.zeros_like(values)
    kernels.call(name, THREADS, (threads, 1, 1), (threads, 1, 1), out, values, masks)
    with np.errstate(over="ignore"):
        for row in range(simdgroups):
            expected = expected_lanes(name, values[row], present[row])[present[row]]
            got = out[row][present[row]]
            same = (got == expected) & (np.signbit(got) == np.signbit(expected))
            if kind is np.float32:
                same |= np.isnan(got) & np.isnan(expected)
            assert same.all(), (row, got, expected)


def test_matrices(kernels: Kernels) -> None:
    rng = np.random.default_rng(0)
    flat = rng.integers(-8, 8, 128 + 80).astype(np.float32)
    a, b = flat[:64].reshape(8, 8), flat[64:128].reshape(8, 8).T
    c = flat[128:].reshape(8, 10)[:, :8]
    halves = np.concatenate([rng.integers(0, 65536, 64), np.zeros(64)]).astype(np.uint16)
    out = np.zeros(192, np.float32)
    kernels.call("matrix", THREADS, (32, 1, 1), (32, 1, 1), out, flat, halves)
    assert (out[:64].reshape(8, 8) == a @ b + c).all()
    assert (out[64:128].reshape(8, 8) == (a @ b + c).T).all()
    assert (halves[64:].reshape(8, 8) == halves[:64].reshape(8, 8).T).all()
    for lane in range(32):
        row = (lane >> 4 & 1) * 4 + (lane >> 2 & 1) * 2 + (lane >> 1 & 1)
        column = (lane >> 3 & 1) * 4 + (lane & 1) * 2
        assert (out[128 + 2 * lane :][:2] == a[row, column : column + 2]).all()
