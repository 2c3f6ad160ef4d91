"""How a Mac's allocator lays out memory: rounding, heaps, reuse, garbage collection."""

from __future__ import annotations

import pytest

from openmps.mac.chips import parse_mac

from .program import M1

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
RECOMMENDED = parse_mac(M1["OPENMPS_MAC"], M1["OPENMPS_MACOS"]).recommended_max_bytes

ROUNDED = {
    1: 256,
    256: 256,
    257: 512,
    16 * KIB - 1: 16 * KIB,
    16 * KIB: 16 * KIB,
    16 * KIB + 1: 32 * KIB,
    MIB: MIB,
    MIB + 1: MIB + 16 * KIB,
    100 * MIB + 5: 100 * MIB + 16 * KIB,
}


def test_sizes_are_rounded(programs):
    program = f"""
answer = []
for size in {list(ROUNDED)}:
    tensor = take(size)
    answer.append(current())
    del tensor
    torch.mps.empty_cache()
"""
    assert programs.run(program) == list(ROUNDED.values())


# What is taken, one after the other, and the bytes of all heaps after each.
HEAPS = {
    "nothing": ([0], [0]),
    "small": ([1, MIB, 7 * MIB], [8 * MIB, 8 * MIB, 40 * MIB]),
    "a_full_small_heap": ([MIB] * 9, [8 * MIB] * 8 + [16 * MIB]),
    "large": ([MIB + 1, 10 * MIB - 1], [32 * MIB, 32 * MIB]),
    "huge": ([10 * MIB, 512 * MIB - 16 * KIB], [GIB, GIB]),
    "room_in_a_large_heap": ([MIB + 1, 20 * MIB], [32 * MIB, 32 * MIB]),
    "its_own": ([512 * MIB, 513 * MIB], [512 * MIB, 512 * MIB + 514 * MIB]),
    "the_heap_with_least_room": (
        [10 * MIB, 2 * MIB, 513 * MIB, MIB + 1],
        # 2 MiB from the first heap, 513 MiB too; then again what is left of the first one.
        [GIB, GIB, GIB, GIB],
    ),
}


@pytest.mark.parametrize("name", HEAPS)
def test_heaps_are_made_as_on_a_mac(programs, name):
    sizes, expected = HEAPS[name]
    program = f"""
kept, answer = [], []
for size in {sizes}:
    kept.append(take(size))
    answer.append(driver())
"""
    assert programs.run(program) == expected


# (taken and freed, taken then): bytes in use and bytes of heaps after that.
REUSE = {
    "same_size": ([1000], 1000, 1024, 8 * MIB),
    "smaller": ([1000], 10, 1024, 8 * MIB),
    "larger": ([1000], 1025, 1280, 8 * MIB),
    "smallest_that_does": ([MIB, 3000, 2000], 1025, 2048, 8 * MIB),
    "smallest_large_that_does": ([50 * MIB, 20 * MIB, 30 * MIB], 15 * MIB, 20 * MIB, GIB),
    "almost_too_large": ([40 * MIB], 8 * MIB, 40 * MIB, GIB),
    "too_large_and_room_elsewhere": ([40 * MIB + 1], 8 * MIB, 8 * MIB, GIB),
    "too_large_and_no_room": ([600 * MIB], 560 * MIB, 560 * MIB, 600 * MIB),
}


@pytest.mark.parametrize("name", REUSE)
def test_free_buffers_are_reused_as_on_a_mac(programs, name):
    freed, size, in_use, heaps = REUSE[name]
    program = f"""
kept = [take(size) for size in {freed}]
del kept
tensor = take({size})
answer = [current(), driver()]
"""
    assert programs.run(program) == [in_use, heaps]


def test_large_buffers_of_many_sizes_come_and_go(programs):
    """Against a model of it: the smallest free buffer that does, or else a new one."""
    program = """
import random
draw = random.Random(0)
free, kept = [], []
for step in range(600):
    if kept and draw.random() < 0.5:
        free.append(kept.pop(draw.randrange(len(kept)))[0])
    else:
        size = draw.choice([2, 2, 3, 5, 8, 9]) * MIB
        fits = [s for s in free if s >= size]
        if fits:
            free.remove(min(fits))
        kept.append((min(fits, default=size), take(size)))
    assert current() == sum(size for size, _ in kept), step
heaps = driver()
kept.clear()
torch.mps.empty_cache()
answer = [current(), driver(), heaps % (32 * MIB)]
"""
    assert programs.run(program) == [0, 0, 0]


def test_emptying_the_cache_frees_heaps_without_live_buffers(programs):
    program = """
answer = [torch.accelerator.memory_stats()]  # nothing before the first use
small, large, own = take(1), take(2 * MIB), take(600 * MIB)
answer.append([current(), driver()])
del large
answer.append([current(), driver()])
torch.accelerator.empty_cache()
answer.append([current(), driver()])
del small, own
torch.mps.empty_cache()
answer.append([current(), driver()])
"""
    small, large, own = 8 * MIB, 32 * MIB, 600 * MIB
    assert programs.run(program) == [
        {},
        [256 + 2 * MIB + own, small + large + own],
        [256 + own, small + large + own],
        [256 + own, small + own],
        [0, 0],
    ]


def low_watermark(limit):
    return {"PYTORCH_MPS_LOW_WATERMARK_RATIO": repr(limit / RECOMMENDED)}


def test_under_pressure_large_buffers_get_heaps_of_their_own(programs):
    program = "kept = [take(20 * MIB)]; answer = driver()"
    assert programs.run(program, **low_watermark(100 * MIB)) == GIB
    # Less than 1 MiB away counts as reached.
    assert programs.run(program, **low_watermark(MIB / 2)) == 20 * MIB


def test_under_pressure_old_buffers_are_collected(programs):
    # Heap 1 is above the low watermark by 90 MiB. Of the free buffers #1 is the smaller and the
    # younger, so #2 goes, and then enough is reclaimed.
    program = """
young, old = take(100 * MIB), take(110 * MIB)
del old
kept = take(300 * MIB)
del young
kept = [kept, take(200 * MIB)]
answer = [current(), driver()]
"""
    result = programs.start(
        program,
        **low_watermark(GIB - 90 * MIB),
        PYTORCH_DEBUG_MPS_ALLOCATOR="8",
    )
    assert result.answer == [500 * MIB, GIB]
    lines = [
        line.partition("] ")[2] for line in result.errors.splitlines() if "shared pool" in line
    ]
    assert lines == [
        "Garbage collected 1 buffers from large shared pool "
        "(total reclaimed: 110.00 MiB, #buffers: 1)"
    ]
    assert "Released buffer #2 of size 110.00 MiB from heap #1" in result.errors
    assert "Released buffer #1" not in result.errors


def test_without_pressure_nothing_is_collected(programs):
    program = """
kept = [take(100 * MIB) for _ in range(3)]
del kept
kept = take(150 * MIB)
answer = [current(), driver()]
"""
    result = programs.start(program, PYTORCH_DEBUG_MPS_ALLOCATOR="8")
    assert result.answer == [150 * MIB, GIB]
    assert "Garbage" not in result.errors
