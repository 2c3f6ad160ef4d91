"""Metal kernels on an NVIDIA GPU against the same algorithms written by hand in CUDA.

    scripts/gpu bench gpu_shaders

Goal: 0.95 of the speed of the code by hand; for the copy, 0.95 of the card's own. Both sides run in
one process, on one stream, in turn, by the card's clock; their results are compared first.
"""

from __future__ import annotations

import ctypes
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["OPENMPS_ENGINE"] = "cuda"
os.environ["OPENMPS_MAC"] = "M3 Ultra 512GB"

import openmps

openmps.activate()

import torch  # noqa: E402
from torch import Tensor  # noqa: E402

from cuda_by_hand import ByHand, Call, copy, in_turn  # noqa: E402
from gpu_report import Row, keep, show  # noqa: E402
from openmps.bench.measure import Pair  # noqa: E402

GOAL = 0.95
ROUND_S = 0.02
ROUNDS = 15
GIB = 1 << 30
FOLDER = Path(__file__).parent / "shaders"
TITLE = "Metal kernels: by hand in CUDA (or the card's copy) and in Metal"


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, device="mps")


def agree(
    name: str, found: Tensor, *others: Tensor, rtol: float = 1e-4, atol: float = 1e-5
) -> None:
    for expected in others:
        try:
            torch.testing.assert_close(found, expected, rtol=rtol, atol=atol)
        except AssertionError as error:
            raise SystemExit(f"{name}: results differ: {error}") from None


def compare(base: Call, metal: Call) -> Pair:
    return in_turn(base, metal, round_s=ROUND_S, rounds=ROUNDS)


def row(what: str, pair: Pair, amount: float, unit: str, goal: float | None = GOAL) -> Row:
    """`amount` of `unit` times seconds: bytes in GB, operations in TFLOP."""
    speed = pair.base_s / pair.other_s
    return Row(what, amount / pair.base_s, amount / pair.other_s, unit, speed, goal)


def copying(metal: Any, hand: ByHand) -> list[Row]:
    vectors, width = GIB // 16, 256
    x = random(GIB // 4)
    y, z = torch.zeros_like(x), torch.zeros_like(x)

    def in_metal() -> None:
        metal.copy(y, x, threads=vectors // 4, group_size=width)

    by_hand = hand.call("copy", (vectors // 4 // width, 1), (width, 1), z.data_ptr(), x.data_ptr())
    in_metal()
    by_hand()
    if not torch.equal(x, y) or not torch.equal(x, z):
        raise SystemExit("copy: the copies differ from what was copied")
    cards_own = copy(z.data_ptr(), x.data_ptr(), GIB)
    moved = 2 * GIB / 1e9  # read and written
    return [
        row("copy of 1 GiB / the card's own", compare(cards_own, in_metal), moved, "GB/s"),
        row("copy of 1 GiB / by hand", compare(by_hand, in_metal), moved, "GB/s", goal=None),
    ]


def saxpy(metal: Any, hand: ByHand) -> list[Row]:
    count, width, a = 1 << 26, 256, 1e-3
    x, y = random(count), random(count)
    z = y.clone()
    expected = a * x + y

    def in_metal() -> None:
        metal.saxpy(y, x, a, threads=count, group_size=width)

    by_hand = hand.call(
        "saxpy",
        (count // width, 1),
        (width, 1),
        z.data_ptr(),
        x.data_ptr(),
        ctypes.c_float(a),
        ctypes.c_uint(count),
    )
    in_metal()
    by_hand()
    agree("saxpy", y, z, expected)
    return [row("saxpy of 64 M", compare(by_hand, in_metal), 12 * count / 1e9, "GB/s")]


def rows(metal: Any, hand: ByHand) -> list[Row]:
    count, length, width = 16384, 4096, 256
    x, weight, bias = random(count, length), random(length), random(length)
    y, z = torch.zeros_like(x), torch.zeros_like(x)
    cases: list[tuple[str, tuple[Tensor, ...], Callable[[], Tensor]]] = [
        (
            "layer_norm",
            (weight, bias),
            lambda: torch.nn.functional.layer_norm(x, (length,), weight, bias),
        ),
        ("row_softmax", (), lambda: torch.softmax(x, 1)),
    ]
    found = []
    for name, rest, expected in cases:
        kernel = getattr(metal, name)

        def in_metal(kernel: Any = kernel, rest: tuple[Tensor, ...] = rest) -> None:
            kernel(y, x, *rest, threads=count * width, group_size=width)

        addresses = [tensor.data_ptr() for tensor in (z, x, *rest)]
        by_hand = hand.call(name, (count, 1), (width, 1), *addresses)
        in_metal()
        by_hand()
        agree(name, y, z, expected())
        moved = 8 * count * length / 1e9
        found.append(row(f"{name}, 16 K rows of 4096", compare(by_hand, in_metal), moved, "GB/s"))
    return found


def product(metal: Any, hand: ByHand) -> list[Row]:
    size = 4096
    a, b = random(size, size), random(size, size)
    c, d = torch.zeros_like(a), torch.zeros_like(a)

    def in_metal() -> None:
        metal.tiled_product(c, a, b, size, threads=(size, size), group_size=(32, 32))

    addresses = [tensor.data_ptr() for tensor in (d, a, b)]
    grid = (size // 32, size // 32)
    by_hand = hand.call("tiled_product", grid, (32, 32), *addresses, ctypes.c_uint(size))
    in_metal()
    by_hand()
    agree("tiled_product", c, d, a @ b, atol=1e-2)
    pair = compare(by_hand, in_metal)
    return [row("32x32 tiled fp32 product, 4096 cubed", pair, 2 * size**3 / 1e12, "TFLOP/s")]


def host_seconds(call: Call, calls: int = 100) -> float:
    """Of a call, by the host's clock; the queue of launches never fills."""
    bursts = []
    for _ in range(10):
        torch.mps.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        bursts.append((time.perf_counter() - begin) / calls)
    return min(bursts)


def overhead(metal: Any, hand: ByHand) -> list[Row]:
    y = torch.zeros(32, device="mps")
    kernel = metal.nothing
    bare = hand.call("nothing", (1, 1), (32, 1), y.data_ptr())
    pair = Pair([], [])
    for _ in range(21):
        pair.base.append(host_seconds(bare))
        pair.other.append(host_seconds(lambda: kernel(y)))
    base, other = pair.base_s * 1e6, pair.other_s * 1e6
    return [Row("a call on 32 elements / a bare launch", base, other, "us", pair.over_us)]


def main() -> None:
    torch.manual_seed(0)
    torch.zeros(1, device="mps")  # makes the context
    hand = ByHand(FOLDER / "gpu.cu")
    begin = time.perf_counter()
    metal = torch.mps.compile_shader((FOLDER / "gpu.metal").read_text())
    metal.copy  # noqa: B018  the first kernel is compiled here
    print(f"compile_shader and its first kernel: {time.perf_counter() - begin:.2f} s")
    found = []
    for part in (copying, saxpy, rows, product, overhead):
        try:
            found += part(metal, hand)
        except (Exception, SystemExit):  # the other kernels' figures count all the same
            traceback.print_exc()
            found.append(Row.without_figures(part.__name__, GOAL))
        torch.mps.empty_cache()
    show(TITLE, found)
    keep("gpu_shaders", TITLE, found)


if __name__ == "__main__":
    main()
