"""Metal kernels on the CPU against the same work written by hand in C++.

    scripts/bench shaders

Both sides are compiled by the same compiler for the same processor (OPENMPS_SHADER_CPU), entered by
the same runtime and given the same threads (OMP_NUM_THREADS). A ratio of 1 means as fast as the
hand-written code, 2 means twice as fast.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from openmps.bench.measure import Pair, alternate
from openmps.build.processor import NATIVE, chosen_processor, levels_here
from openmps.build.shader_compiler import DIALECT, find_shader_compiler
from openmps.msl.library import parse_library
from openmps.targets.base import dispatch_struct
from openmps.targets.cpu import CpuTarget
from openmps.targets.cpu_builder import PACKAGE, CpuOptions
from openmps.targets.cpu_runtime import Style, runtime

FOLDER = Path(__file__).parent / "shaders"
WORKERS = int(os.environ.get("OMP_NUM_THREADS", "1"))
SOURCE = (FOLDER / "kernels.metal").read_text()
Call = Callable[[], None]


@dataclass(frozen=True)
class Grid:
    threads: tuple[int, int, int]
    group: tuple[int, int, int]


def block(header: bytes, grid: Grid, buffers: Sequence[np.ndarray]) -> ctypes.Array[ctypes.c_char]:
    packed = dispatch_struct(len(buffers)).pack(
        header,
        *grid.threads,
        *grid.group,
        *(buffer.ctypes.data for buffer in buffers),
        *(buffer.nbytes for buffer in buffers),
        *(0, 0, 0),
    )
    return ctypes.create_string_buffer(packed)


class Metal:
    def __init__(self, *, lanes: bool) -> None:
        self._target = CpuTarget(CpuOptions(lanes=lanes, workers=lambda: WORKERS))
        self._library = parse_library(SOURCE)
        self._target.open(self._library)

    def call(self, name: str, grid: Grid, buffers: Sequence[np.ndarray]) -> Call:
        kernel = self._target.kernel(self._library, name)
        dispatch = block(kernel.header, grid, buffers)
        return lambda: kernel.launch(ctypes.addressof(dispatch))


class ByHand:
    def __init__(self, folder: Path) -> None:
        compiler = find_shader_compiler()
        machine = compiler.machine(chosen_processor())
        flags = [*DIALECT, *machine, "-O3", "-I", str(PACKAGE / "include")]
        if runtime().has_libmvec and compiler.kind == "clang":
            flags.append("-fveclib=libmvec")
        source = str(FOLDER / "by_hand.cpp")
        compiler.run(["-x", "c++", *flags, "-c", source, "-o", "by_hand.o"], folder)
        compiler.run(["by_hand.o", "-o", "by_hand.so"], folder, link=True)
        self._library = ctypes.CDLL(str(folder / "by_hand.so"))

    def call(self, name: str, style: Style, grid: Grid, buffers: Sequence[np.ndarray]) -> Call:
        entry = ctypes.cast(getattr(self._library, name), ctypes.c_void_p).value
        header = struct.pack("=QIIfI", entry, style.value, WORKERS, 0.0, 0)
        dispatch = block(header, grid, buffers)
        return lambda: runtime().launch(ctypes.addressof(dispatch), name)


def show(what: str, pair: Pair, goal: str) -> None:
    speed = pair.base_s / pair.other_s
    print(
        f"{what:52} {pair.base_s * 1e3:9.3f} {pair.other_s * 1e3:9.3f} {speed:7.2f}   {goal}",
        flush=True,
    )


def aligned(array: np.ndarray) -> np.ndarray:
    """A copy where torch's allocator would put it: numpy's begin 16 bytes into a cache line."""
    room = np.empty(array.nbytes + 64, np.uint8)
    start = -room.ctypes.data % 64
    copy = room[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


def same(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=2e-4, atol=2e-4)


def elementwise(metal: Metal, hand: ByHand) -> None:
    count = 1 << 24
    x = aligned(np.random.default_rng(0).standard_normal(count, dtype=np.float32))
    y = aligned(np.ones_like(x))
    a = np.array([1.0001], np.float32)
    grid = Grid((count, 1, 1), (1024, 1, 1))
    for name, buffers in (("saxpy", [y, x, a]), ("silu", [y, x])):
        plain = hand.call(f"plain_{name}", Style.BOXES, grid, buffers)
        pair = alternate(plain, metal.call(name, grid, buffers), calls=1, rounds=31)
        show(f"{name}, 16 M elements / plain loop", pair, "0.95")


def rows(metal: Metal, hand: ByHand) -> None:
    count, length = 32, 4096  # in the cache: what is compared is code, not memory
    rng = np.random.default_rng(0)
    x = aligned(rng.standard_normal((count, length), dtype=np.float32))
    y, z = aligned(np.zeros_like(x)), aligned(np.zeros_like(x))
    size = np.array([length], np.uint32)
    weight, bias = map(aligned, rng.standard_normal((2, length), dtype=np.float32))
    grid = Grid((256 * count, 1, 1), (256, 1, 1))
    for name, rest in (("subtract_mean", [size]), ("layer_norm", [size, weight, bias])):
        call = metal.call(name, grid, [y, x, *rest])
        for style, goal in (("plain", "1.5"), ("lanes", "0.5")):
            by_hand = hand.call(f"{style}_{name}", Style.GROUPS, grid, [z, x, *rest])
            call()
            by_hand()
            same(y, z)
            pair = alternate(by_hand, call, calls=40, rounds=31)
            show(f"{name}, 32 rows of 4096 / {style} by hand", pair, goal)


def product(metal: Metal, oracle: Metal, hand: ByHand) -> None:
    size = 512
    rng = np.random.default_rng(0)
    a, b = map(aligned, rng.standard_normal((2, size, size), dtype=np.float32))
    c, d = aligned(np.zeros_like(a)), aligned(np.zeros_like(a))
    n = np.array([size], np.uint32)
    tiles = Grid((128 * size // 32, size // 32, 1), (128, 1, 1))
    call = metal.call("tile_product", tiles, [c, a, b, n])
    plain = hand.call("plain_product", Style.GROUPS, Grid((size, 1, 1), (32, 1, 1)), [d, a, b, n])
    call()
    plain()
    same(c, d)
    pair = alternate(plain, call, calls=1, rounds=31)
    show("32x32-tile product, 512 cubed / plain ikj loop", pair, "1.5")
    slow = oracle.call("tile_product", tiles, [d, a, b, n])
    show("  the same / one fibre per thread", alternate(slow, call, calls=1, rounds=3), "20")
    same(c, d)


def histogram(metal: Metal, hand: ByHand) -> None:
    count = 1 << 22
    x = np.random.default_rng(0).integers(0, 256, count, dtype=np.uint8)
    counts, expected = np.zeros(256, np.uint32), np.zeros(256, np.uint32)
    grid = Grid((256 * count // 16384, 1, 1), (256, 1, 1))
    call = metal.call("histogram", grid, [counts, x])
    plain = hand.call("plain_histogram", Style.GROUPS, grid, [expected, x])
    call()
    plain()
    np.testing.assert_array_equal(counts, expected)
    pair = alternate(plain, call, calls=1, rounds=31)
    show("histogram with threadgroup atomics / plain loop", pair, "0.4")


def overhead() -> None:
    import torch

    import openmps

    openmps.activate(engine="cpu")
    torch.set_num_threads(1)
    x = torch.ones(4, device="mps")
    y = torch.ones(4, device="mps")
    colds = []
    with tempfile.TemporaryDirectory() as cache:
        os.environ["OPENMPS_CACHE_DIR"] = cache
        for number in range(7):
            source = f"""kernel void k(device float* y, constant float* x, constant float& a,
            uint i [[thread_position_in_grid]]) {{ y[i] = a * x[i] + {number}; }}"""
            begin = time.perf_counter()
            kernel = torch.mps.compile_shader(source).k
            kernel(y, x, 2.0)
            colds.append(time.perf_counter() - begin)
    print(f"{'cold: compile_shader and first call':52} {sorted(colds)[3]:9.3f} s   1.5")
    pair = alternate(lambda: None, lambda: kernel(y, x, 2.0), calls=2000, rounds=31)
    print(f"{'warm: one call on 4 elements':52} {pair.over_us:9.2f} us  15")


def main() -> None:
    compiler = find_shader_compiler().identity.splitlines()[0]
    processor = chosen_processor().name
    if processor == NATIVE:
        processor += f" ({(levels_here() or ['below all levels'])[-1]})"
    print(f"{WORKERS} thread(s), {processor}, {compiler}")
    print(f"{'Metal / by hand':52} {'hand ms':>9} {'metal ms':>9} {'speed':>7}   goal")
    metal, oracle = Metal(lanes=True), Metal(lanes=False)
    with tempfile.TemporaryDirectory() as folder:
        hand = ByHand(Path(folder))
        parts: dict[str, Callable[[], None]] = {
            "elementwise": lambda: elementwise(metal, hand),
            "rows": lambda: rows(metal, hand),
            "product": lambda: product(metal, oracle, hand),
            "histogram": lambda: histogram(metal, hand),
            "overhead": overhead,
        }
        for name in sys.argv[1:] or parts:
            parts[name]()


if __name__ == "__main__":
    main()
